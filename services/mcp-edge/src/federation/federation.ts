import { Bag, type Bagged } from '@cortex/bus/bag';
import { withoutClientPrefix } from '../catalog/client-prefix.js';
import type { CallContext } from '../calls/call-context.js';
import type { Delivered } from '../calls/dispatch.js';
import { callId } from '../calls/ids.js';
import type { EdgeTool } from '../catalog/edge-tool.js';
import type { EdgeMetrics } from '../metrics.js';
import { cancelledByCaller, type EdgeLog } from '../seams.js';
import { absentOwner } from './absent.js';
import type { NameClaims } from './claims.js';
import { BackendClient, type PendingAnswer } from './client.js';
import type { ReadSchemas } from './declarations.js';
import type { MachineIdentity } from './machine-identity.js';
import { contextText } from '../methods/context.js';
import { exposedName } from './names.js';
import type { RoundTrips } from '../methods/round-trips.js';
import { FederatedOffer } from './offer.js';
import { deliveredOf, type ErrorStyle } from './results.js';
import type { HeldToSchemas } from './schemas/held-to.js';
import { Shelf } from './shelf.js';
import type { Backend, BackendAnswer, DigestOf, FederatedCatalog, FederatedTool, ListKind, Review } from './types.js';

export interface FederationOptions {
  readonly backends: readonly Backend[];
  readonly settings: {
    readonly production: boolean;
    readonly CORTEX_REFRESH_INTERVAL_MS: number;
    readonly CORTEX_TOOL_NAME_MAX: number;
    readonly CORTEX_BACKEND_ERROR_STYLE: ErrorStyle;
    readonly CORTEX_MAX_BACKEND_RESPONSE_BYTES: number;
    readonly CORTEX_BACKEND_MAX_STREAM_MS: number;
  };
  readonly catalog: {
    /** Whether an own tool has this name, or will have it. */
    reserves(name: string): boolean;
    setFederated(tools: readonly EdgeTool[], notify: boolean): void;
  };
  /** Names of the gateway's own built-ins. */
  readonly builtins: ReadonlySet<string>;
  readonly log: EdgeLog;
  readonly metrics: Pick<EdgeMetrics, 'backend' | 'refreshSeconds'>;
  readonly review: Review;
  /** Whether reviews know what was approved; until they do, the next turn comes soon. */
  readonly settled: () => boolean;
  readonly digestOf: DigestOf;
  readonly readSchemas: ReadSchemas;
  readonly schemas: HeldToSchemas;
  readonly roundTrips: RoundTrips;
  readonly claims: NameClaims;
  /** Set where the issuer knows Cortex as a client of its own. */
  readonly machine?: MachineIdentity | undefined;
}

/** A change of what the backends offer, by the kind of list that it shows in. */
export type OfferListener = (kinds: ReadonlySet<ListKind>) => void;

/** A call that a backend works on. */
interface Running extends Bagged {
  readonly call_id: string;
  readonly pending: PendingAnswer;
}

const JITTER = 0.1;
/** Until the next try to read who holds which name, and what was approved. */
const UNREAD_MS = 1_000;
/** How long an answer waits for the refresh that it asks for. */
const PATIENCE_MS = 1_000;

/**
 * The backends: asks them what they offer, in turns, and sends them the calls of their tools. What one of them does or fails to do reaches
 * no other. Source: gateway, sections 12 and 13.
 */
export class Federation {
  readonly #shelves = new Map<string, Shelf>();
  readonly #offer: FederatedOffer;
  readonly #running = new Bag<Running>();
  readonly #offerListeners = new Set<OfferListener>();
  readonly #resourceListeners = new Set<(uri: string) => void>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #named = false;
  #asked: boolean;
  #refreshedAt: string | null = null;

  constructor(private readonly options: FederationOptions) {
    const { backends, settings, log, metrics, builtins, readSchemas, review, digestOf, catalog, machine } = options;
    for (const backend of backends) {
      const meter = metrics.backend(backend.id);
      const client = new BackendClient({
        backend,
        machine,
        maxBytes: settings.CORTEX_MAX_BACKEND_RESPONSE_BYTES,
        maxStreamMs: settings.CORTEX_BACKEND_MAX_STREAM_MS,
        listChanged: (kinds) => this.changed(backend.id, kinds),
        resourceUpdated: (uri) => this.resourceUpdated(backend, uri),
        answered: (answer, ms) => meter.count(outcomeOf(answer), ms),
      });
      const rules = { backend, builtins, production: settings.production, readSchemas };
      this.#shelves.set(backend.id, new Shelf({ backend, client, rules, review, log, requestId: callId }));
    }
    this.#offer = new FederatedOffer({
      max: settings.CORTEX_TOOL_NAME_MAX,
      longestMs: settings.CORTEX_BACKEND_MAX_STREAM_MS,
      digestOf,
      reserves: (name) => catalog.reserves(name),
      log,
    });
    this.#asked = backends.length === 0;
  }

  /** True once every backend was asked. */
  get complete(): boolean {
    return this.#asked;
  }

  /** ISO time of the last refresh; null before the first, and where there is no backend to ask. */
  get refreshedAt(): string | null {
    return this.#refreshedAt;
  }

  /** What is offered now. Compare the object to see whether anything changed. */
  get current(): FederatedCatalog {
    return this.#offer.current;
  }

  /** Names of backends that met others, in words. */
  get collisions(): ReadonlySet<string> {
    return this.#offer.collisions;
  }

  /** The exposed name of a tool, also while its backend is away; undefined where it has none. */
  exposedOf(id: string, original: string): string | undefined {
    const shelf = this.#shelves.get(id);
    const known = this.#offer.names.tool.get(id)?.get(original);
    if (known !== undefined || shelf === undefined || shelf.healthy === true) return known;
    // Names that others may want as well were kept over the start; what is left has the one that it always gets.
    return exposedName({ ...shelf.backend, kind: 'tool', original }, this.options.settings.CORTEX_TOOL_NAME_MAX);
  }

  get shelves(): ReadonlyMap<string, Shelf> {
    return this.#shelves;
  }

  /** The backend that is away now and whose tool has this name, said as a client may say it; undefined where that is nobody. */
  absentOwnerOf(name: string): Shelf | undefined {
    const ownerOf = (exposed: string) => absentOwner(exposed, this.#shelves.values(), this.#offer.names.tool);
    const bare = withoutClientPrefix(name);
    return ownerOf(name) ?? (bare === undefined ? undefined : ownerOf(bare));
  }

  /** The backend that declares a tool which would have this name and is left out, and why; undefined where there is none. */
  leftOut(name: string): { readonly backend: Backend; readonly why: string } | undefined {
    const { CORTEX_TOOL_NAME_MAX: max } = this.options.settings;
    for (const { backend, leftOut } of this.#shelves.values())
      for (const [original, why] of leftOut)
        if (name === `${backend.id}/${original}` || name === exposedName({ ...backend, kind: 'tool', original }, max))
          return { backend, why };
    return undefined;
  }

  /** For `/ready`. */
  get problem(): string | null {
    return this.#asked ? null : 'the backends have not been asked yet';
  }

  /** Begins with a refresh that nobody waits for. */
  start(): void {
    if (this.#shelves.size > 0) void this.#turn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#shelves.values()].map(({ client }) => client.close()));
  }

  /** One call of a tool. Everything about the tool was worked out when it was declared. */
  async ask(ctx: CallContext, tool: FederatedTool): Promise<Delivered> {
    const { caller, meta, events, era, revision, client: said, name } = ctx.input;
    const { backend } = tool;
    const { client } = this.#shelfOf(backend.id);
    const { roundTrips } = this.options;
    const bound = { backend, item: tool.original, method: 'tools/call', caller, args: ctx.args };
    const opened = roundTrips.opened(bound, said);
    const checked = this.options.schemas.arguments(ctx, tool);
    const refused = checked && (await checked);
    if (refused !== undefined) return refused;
    if (ctx.input.cancel.cancelled) throw cancelledByCaller();
    const pending = client.call({
      method: tool.original,
      params: ctx.args_json,
      context: contextText({ requestId: ctx.call_id, era, revision, meta, client: said, opened, toolName: name }),
      as: caller,
      requestId: ctx.call_id,
      ...(meta.idempotency_key !== undefined && { idempotencyKey: meta.idempotency_key }),
      traceparent: ctx.traceparent,
      ...(meta.tracestate !== undefined && { tracestate: meta.tracestate }),
      ...(meta.baggage !== undefined && { baggage: meta.baggage }),
      ...(tool.timeoutMs !== undefined && { timeoutMs: tool.timeoutMs }),
      ...(events !== undefined && { events }),
    });
    const running = { call_id: ctx.call_id, pending, slot: -1 };
    this.#running.add(running);
    try {
      const answer = await pending.answer;
      if (answer.kind === 'invalid')
        this.options.log.warn(
          { call_id: ctx.call_id, backend: backend.id, tool: tool.exposed, why: answer.why },
          'a backend sent an invalid response',
        );
      const style = this.options.settings.CORTEX_BACKEND_ERROR_STYLE;
      const delivered = deliveredOf(tool, answer, caller, style, (value) => roundTrips.asked(bound, said, value));
      return await this.options.schemas.result(ctx, tool, delivered);
    } finally {
      this.#running.delete(running);
    }
  }

  /** The caller is gone: so is the connection on which the backend works for it. */
  cancel(callId: string): void {
    const running = this.#running.items().find(({ call_id }) => call_id === callId);
    running?.pending.abort();
  }

  /** Asks one backend, or all of them, what they offer now; resolves when that is in force. */
  async refresh(id?: string): Promise<void> {
    const shelves = id === undefined ? [...this.#shelves.values()] : [this.#shelfOf(id)];
    const measured = this.options.metrics.refreshSeconds.startTimer();
    await Promise.all([...shelves.map((shelf) => shelf.refresh()), this.#readClaims()]);
    measured();
    this.#refreshedAt = new Date().toISOString();
    this.#publish();
  }

  /** Takes over what a review says by now of what was declared last; no backend is asked. */
  async reconsider(review: Review): Promise<void> {
    await Promise.all(
      [...this.#shelves.values()].map(async (shelf) => {
        const { backend, declared, healthy } = shelf;
        const reviewed = healthy === true ? await review(backend, declared) : shelf.reviewed;
        // A refresh that ended meanwhile knows better.
        if (shelf.declared === declared) shelf.reviewed = reviewed;
      }),
    );
    this.#publish();
  }

  onChange(listener: OfferListener): () => void {
    this.#offerListeners.add(listener);
    return () => void this.#offerListeners.delete(listener);
  }

  /** A resource of a backend changed; told by itself, about its own schemes alone. */
  onResourceUpdated(listener: (uri: string) => void): () => void {
    this.#resourceListeners.add(listener);
    return () => void this.#resourceListeners.delete(listener);
  }

  resourceUpdated({ uriSchemes }: Backend, uri: string): void {
    const scheme = uri.slice(0, Math.max(0, uri.indexOf(':'))).toLowerCase();
    if (uriSchemes.includes(scheme)) for (const listener of this.#resourceListeners) listener(uri);
  }

  /** A backend says that its lists changed: it is asked at once. Resolves after a second at most, since somebody's answer may hang on it. */
  async changed(id: string, kinds: readonly ListKind[]): Promise<void> {
    if (kinds.length === 0 || this.#stopped) return;
    const refreshed = this.refresh(id).catch((error: unknown) => this.#broken(error));
    let clock: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (clock = setTimeout(resolve, PATIENCE_MS).unref()));
    await Promise.race([refreshed, patience]);
    clearTimeout(clock);
  }

  async #turn(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      this.#broken(error);
    }
    if (this.#stopped) return;
    const { settings, settled } = this.options;
    const every = settings.CORTEX_REFRESH_INTERVAL_MS;
    const interval = this.#named && settled() ? every : Math.min(every, UNREAD_MS);
    const pause = interval * (1 + JITTER * (2 * Math.random() - 1));
    this.#timer = setTimeout(() => void this.#turn(), pause).unref();
  }

  /** Before it is known who held which name nobody gets one: what is offered is not renamed a second later. */
  async #readClaims(): Promise<void> {
    if (this.#named) return;
    try {
      const held = await this.options.claims.read();
      if (!this.#named) this.#offer.hold(held);
      this.#named = true;
    } catch (error) {
      this.options.log.warn(
        { err: error },
        'the names that backends hold cannot be read now; nothing of them is offered',
      );
    }
  }

  #publish(): void {
    if (this.#stopped || !this.#named) return;
    const first = !this.#asked;
    this.#asked = [...this.#shelves.values()].every(({ healthy }) => healthy !== null);
    const { kinds, tools, changes } = this.#offer.update([...this.#shelves.values()]);
    if (kinds.has('tools') || (first && this.#asked)) this.options.catalog.setFederated(tools, !first);
    this.#tell(changes);
    for (const { backend, healthy } of this.#shelves.values())
      if (healthy === true) void this.options.claims.keep(backend, this.#offer.names);
    // What is there after a start is no change for anybody.
    if (kinds.size > 0 && !first) for (const listener of this.#offerListeners) listener(kinds);
  }

  #tell(changes: readonly string[]): void {
    const shelves = [...this.#shelves.values()];
    const { tools, prompts, templates, resources } = this.current;
    const unreachable = shelves.filter(({ healthy }) => healthy === false);
    const fields = {
      tools: tools.length,
      prompts: prompts.length,
      templates: templates.length,
      resources: resources.length,
      held: tools.filter(({ held }) => held !== undefined).length,
      healthy: shelves.filter(({ healthy }) => healthy === true).map(({ backend }) => backend.id),
      unreachable: unreachable.map(({ backend, problem }) => `${backend.id}: ${problem}`),
      changes: changes.slice(0, MAX_TOLD),
      more_changes: Math.max(0, changes.length - MAX_TOLD) || undefined,
    };
    this.options.log[unreachable.length > 0 ? 'warn' : 'info'](fields, 'the backends were asked what they offer');
  }

  #broken(error: unknown): void {
    this.options.log.error({ err: error }, 'a refresh of the backends broke');
  }

  #shelfOf(id: string): Shelf {
    const shelf = this.#shelves.get(id);
    if (shelf === undefined) throw new Error(`there is no backend ${id}`);
    return shelf;
  }
}

/** For the meters: a 5xx is the backend's failure, any other refusal its answer. */
const outcomeOf = (answer: BackendAnswer): string =>
  answer.kind === 'refused' && answer.status >= 500 ? 'failed' : answer.kind;

const MAX_TOLD = 20;
