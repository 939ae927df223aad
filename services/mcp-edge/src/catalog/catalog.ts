import type { Bus, KvEntry } from '@cortex/bus';
import { ALWAYS_ALLOWED, AnnouncedTool, BUCKETS, MODE_RULES } from '@cortex/contracts';
import { unpackAnnouncement } from '@cortex/contracts/announcement';
import { isObject } from '@cortex/contracts/is-object';
import type { Tool } from '@cortex/service-kit';
import type { CallerContext, CatalogReader, EdgeLog } from '../seams.js';
import { withoutClientPrefix } from './client-prefix.js';
import { compareOrder, edgeTool, type EdgeTool } from './edge-tool.js';
import { Instances } from './instances.js';
import { nearNames } from './near-names.js';
import { isVisible, visibilityKey } from './visibility.js';

/** Key of `cortex_tools` in which provisioning says which service owns which tool. */
const OWNERS = '_owners';
const SELF = 'mcp-edge';
/** Announcements of a start come in a burst; together they are one change. */
const SETTLE_MS = 50;
const EXPIRY_LOOK_MS = 500;
const VISIBLE_SETS = 256;
/** Tools of Cortex by the rules of the modes: a foreign one of such a name would pass where it may not. */
const RULED = new Set([
  ...ALWAYS_ALLOWED,
  ...Object.values(MODE_RULES).flatMap(({ allow, pinned }) => [...(allow ?? []), ...pinned]),
]);

/**
 * The tools that there are: announced by the services, owned by whom provisioning says, living while an instance lives. Followed in the
 * key-value store without a consumer; everything that a call or a list needs is made ready here when something changes.
 */
export class Catalog implements CatalogReader {
  version = 1;
  changed_at = new Date().toISOString();
  #told = false;
  #tools = new Map<string, EdgeTool>();
  #living: readonly EdgeTool[] = [];
  /** Of our own living tools, and the federated ones that are listed: what the next change is compared with. */
  #signature = '';
  #shown: readonly EdgeTool[] = [];
  /** Undefined until the backends have been asked once. */
  #federated: readonly EdgeTool[] | undefined;
  #visible = new Map<string, readonly EdgeTool[]>();
  readonly #announced = new Map<string, readonly Omit<EdgeTool, 'live'>[]>();
  #owners: Readonly<Record<string, unknown>> = {};
  readonly instances = new Instances();
  /** With whether they are told quiet changes as well. */
  readonly #listeners = new Map<() => void, boolean>();
  #settling: NodeJS.Timeout | undefined;
  readonly #stops: (() => void)[] = [];

  /** `backends`: whether there are any, so that a list without their tools is not taken for the whole. */
  constructor(
    own: readonly Tool[],
    private readonly log: EdgeLog,
    backends = false,
  ) {
    if (!backends) this.#federated = [];
    this.#announced.set(
      SELF,
      this.#prepare(
        SELF,
        own.map((tool) => tool.announced),
        own,
      ),
    );
    this.#rebuild();
  }

  /** Resolves when what was announced before has been told. */
  async follow(bus: Bus): Promise<void> {
    const tools = bus.kv(BUCKETS.tools.name).watch('>', (key, entry) => this.#toolsTold(key, entry));
    const nodes = bus.kv(BUCKETS.nodes.name).watch('>', (key, entry) => {
      const changed = entry === null ? this.instances.gone(key) : this.instances.seen(key);
      if (changed) this.#settle();
    });
    const clock = setInterval(() => {
      if (bus.up && this.instances.expire()) this.#settle();
    }, EXPIRY_LOOK_MS).unref();
    const offStatus = bus.onStatus((up) => up && this.instances.forgive());
    this.#stops.push(
      () => tools.stop(),
      () => nodes.stop(),
      () => clearInterval(clock),
      offStatus,
    );
    await Promise.all([tools.ready, nodes.ready]);
    this.#told = true;
    this.#rebuild();
  }

  /** False until announcements, instances and backends have been told once. */
  get complete(): boolean {
    return this.#told && this.#federated !== undefined;
  }

  /** Whether a tool of Cortex has this name, running or not: no other may have it (threat T23). */
  reserves(name: string): boolean {
    const known = this.#tools.get(name);
    return (
      Object.hasOwn(this.#owners, name) || RULED.has(name) || (known !== undefined && known.federated === undefined)
    );
  }

  /**
   * All tools of all backends, in their order, in one step; what did not change must be the same object. Without `notify` nobody is told: they
   * were there before, and only this process did not know.
   */
  setFederated(tools: readonly EdgeTool[], notify: boolean): void {
    this.#federated = tools;
    this.#rebuild(notify);
  }

  stop(): void {
    clearTimeout(this.#settling);
    for (const stop of this.#stops.splice(0)) stop();
  }

  all(): readonly EdgeTool[] {
    return this.#living;
  }

  find(name: string): EdgeTool | undefined {
    const found = this.#tools.get(name);
    if (found !== undefined) return found;
    const bare = withoutClientPrefix(name);
    return bare === undefined ? undefined : this.#tools.get(bare);
  }

  visible(caller: CallerContext): readonly EdgeTool[] {
    const key = visibilityKey(caller);
    let tools = this.#visible.get(key);
    if (tools === undefined) {
      if (this.#visible.size >= VISIBLE_SETS) this.#visible.clear();
      tools = this.#living.filter((tool) => isVisible(tool, caller));
      this.#visible.set(key, tools);
    }
    return tools;
  }

  near(name: string, caller?: CallerContext): string[] {
    return nearNames(
      name,
      (caller ? this.visible(caller) : this.#living).map((tool) => tool.name),
    );
  }

  /** `quiet`: told also of what was there before and only this process did not know. */
  onChange(listener: () => void, quiet = false): () => void {
    this.#listeners.set(listener, quiet);
    return () => void this.#listeners.delete(listener);
  }

  scopes(): readonly string[] {
    // A tool that is held back asks nobody for a scope.
    const offered = this.#living.filter(({ federated }) => federated?.held === undefined);
    return [...new Set(offered.flatMap((tool) => tool.required_scopes))].sort();
  }

  #toolsTold(key: string, entry: KvEntry | null): void {
    // Our own tools are those of this build, whatever an older release left in the bucket.
    if (key === SELF) return;
    let value: unknown;
    try {
      value = entry && unpackAnnouncement(entry.value);
    } catch {
      this.log.warn({ key }, 'an announcement is no JSON and was left out');
      return;
    }
    if (key === OWNERS) {
      // Provisioning writes it and nobody takes it away: anything else was put there by somebody who may not (threat T81).
      if (!isObject(value) || !Object.values(value).every((owner) => typeof owner === 'string')) {
        this.log.warn({}, 'the owners of the tools are unreadable; the last ones stay in force');
        return;
      }
      this.#owners = value;
    } else if (isObject(value) && Array.isArray(value['tools']))
      this.#announced.set(key, this.#prepare(key, value['tools']));
    else this.#announced.delete(key);
    this.#settle();
  }

  #prepare(service: string, announced: readonly unknown[], own?: readonly Tool[]): Omit<EdgeTool, 'live'>[] {
    return announced.flatMap((raw, position) => {
      const parsed = AnnouncedTool.safeParse(raw);
      const name = isObject(raw) ? raw['name'] : undefined;
      if (!parsed.success) {
        this.log.warn(
          { service, tool: name, faults: parsed.error.issues.length },
          'an announced tool is malformed and was left out',
        );
        return [];
      }
      try {
        return [edgeTool(parsed.data, service, position, own?.[position])];
      } catch (error) {
        this.log.warn(
          { service, tool: name, why: (error as Error).message },
          'an announced tool cannot be offered and was left out',
        );
        return [];
      }
    });
  }

  #settle(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      this.#rebuild();
    }, SETTLE_MS).unref();
  }

  #rebuild(notify = true): void {
    const next = new Map<string, EdgeTool>();
    for (const [service, tools] of this.#announced) {
      const live = service === SELF || this.instances.alive(service);
      for (const tool of tools) {
        if (service !== SELF && this.#owners[tool.name] !== service) {
          this.log.warn({ service, tool: tool.name }, 'a service announced a tool that it does not own; ignored');
          continue;
        }
        // Our own built-ins cannot be displaced, not even by a wrong owner table.
        if (next.get(tool.name)?.local === undefined) next.set(tool.name, { ...tool, live });
      }
    }
    const own = [...next.values()].filter((tool) => tool.live).sort(compareOrder);
    // An own name always wins, whoever had it first (threat T23).
    const federated = (this.#federated ?? []).filter((tool) => !next.has(tool.name));
    for (const tool of federated) next.set(tool.name, tool);
    const text = signature(own);
    const changed = text !== this.#signature || !sameTools(federated, this.#shown);
    this.#signature = text;
    this.#shown = federated;
    this.#tools = next;
    this.#living = [...own, ...federated];
    this.#visible = new Map();
    if (!changed) return;
    this.version++;
    this.changed_at = new Date().toISOString();
    for (const [listener, quiet] of this.#listeners) if (notify || quiet) listener();
  }
}

/** A changed definition counts as a change, not only a name. */
const signature = (tools: readonly EdgeTool[]): string =>
  tools.map((tool) => `${tool.service}:${tool.listing.full}:${tool.announced.deadline_ms}`).join('\n');

const sameTools = (a: readonly EdgeTool[], b: readonly EdgeTool[]): boolean =>
  a.length === b.length && a.every((tool, i) => tool === b[i]);
