import type { EdgeTool } from '../catalog/edge-tool.js';
import type { EdgeLog } from '../seams.js';
import type { Names, NamesByKind } from './claims.js';
import { federatedEdgeTool } from './listing.js';
import { assignNames, exposedName, type Named, type NameKind } from './names.js';
import type { Shelf } from './shelf.js';
import type { Backend, DeclaredTool, DigestOf, FederatedCatalog, FederatedTool, HeldTool, ListKind } from './types.js';

export interface OfferOptions {
  /** Characters of the longest exposed name. */
  readonly max: number;
  /** Milliseconds of the longest stream. */
  readonly longestMs: number;
  readonly digestOf: DigestOf;
  readonly reserves: (name: string) => boolean;
  readonly log: EdgeLog;
}

export interface OfferChange {
  /** In which lists something changed. */
  readonly kinds: ReadonlySet<ListKind>;
  readonly tools: readonly EdgeTool[];
  /** What changed of the tools, for the log: `+name`, `-name`, `~name`. */
  readonly changes: readonly string[];
}

/** What of a shelf is read here. */
export type OnShelf = Pick<Shelf, 'backend' | 'healthy' | 'declared' | 'reviewed'>;

const nameOf = (names: Names, { id }: Backend, original: string): string | undefined => names.get(id)?.get(original);

/** What all backends together offer, under names that nobody else has. What did not change stays the same object. */
export class FederatedOffer {
  current: FederatedCatalog = { tools: [], prompts: [], templates: [], resources: [] };
  #tools: readonly EdgeTool[] = [];
  /** By its declaration, with what was added to that. */
  readonly #made = new WeakMap<DeclaredTool, { tool: EdgeTool; added: string }>();
  readonly #items = new WeakMap<object, object>();
  /** Of everything declared, offered now or not, and of what backends held that were not heard since the start: an outage renames nothing. */
  readonly #names: Record<NameKind, Names> = { tool: new Map(), prompt: new Map() };
  #collisions: ReadonlySet<string> = new Set();
  #seen: readonly unknown[] = [];

  constructor(private readonly options: OfferOptions) {}

  /** Names that met others, in words. */
  get collisions(): ReadonlySet<string> {
    return this.#collisions;
  }

  get names(): NamesByKind {
    return this.#names;
  }

  /** Names that were held before the start; ahead of the first update. */
  hold({ tool, prompt }: NamesByKind): void {
    this.#names.tool = tool;
    this.#names.prompt = prompt;
  }

  update(shelves: readonly OnShelf[]): OfferChange {
    // A refresh that met nothing new is not worked through, however many tools there are.
    const seen = shelves.flatMap(({ healthy, declared, reviewed: { served, held, extraScopes } }) => [
      healthy,
      ...(healthy === true ? [declared, served, held, extraScopes] : []),
    ]);
    if (same(seen, this.#seen)) return { kinds: new Set(), tools: this.#tools, changes: [] };
    this.#seen = seen;
    const collisions: string[] = [];
    const toolNames = this.#nameAll('tool', shelves, collisions);
    const promptNames = this.#nameAll('prompt', shelves, collisions);
    for (const collision of collisions) if (!this.#collisions.has(collision)) this.options.log.warn({}, collision);
    this.#collisions = new Set(collisions);

    const serving = shelves.filter(({ healthy }) => healthy === true);
    const tools = serving.flatMap((shelf) => this.#toolsOf(shelf, toolNames));
    const prompts = serving.flatMap(({ backend, reviewed }) =>
      reviewed.served.prompts.flatMap((item) => {
        const exposed = nameOf(promptNames, backend, item.original);
        return exposed === undefined ? [] : [this.#kept(item, { backend, exposed })];
      }),
    );
    const templates = serving.flatMap(({ backend, reviewed }) =>
      reviewed.served.templates.map((item) => this.#kept(item, { backend })),
    );
    const resources = serving.flatMap(({ backend, reviewed }) =>
      reviewed.served.resources.map((item) => this.#kept(item, { backend })),
    );
    return this.#replace(tools, { prompts: prompts.sort(byName), templates, resources });
  }

  #replace(tools: readonly EdgeTool[], rest: Omit<FederatedCatalog, 'tools'>): OfferChange {
    const before = this.current;
    const kinds = new Set<ListKind>();
    const changes = same(tools, this.#tools) ? [] : difference(this.#tools, tools);
    if (!same(tools, this.#tools)) kinds.add('tools');
    if (!same(rest.prompts, before.prompts)) kinds.add('prompts');
    if (!same(rest.templates, before.templates) || !same(rest.resources, before.resources)) kinds.add('resources');
    if (kinds.has('tools')) this.#tools = tools;
    if (kinds.size > 0)
      this.current = { ...rest, tools: this.#tools.flatMap(({ federated }) => (federated ? [federated] : [])) };
    return { kinds, tools: this.#tools, changes };
  }

  #toolsOf({ backend, reviewed, declared }: OnShelf, names: Names): EdgeTool[] {
    const { served, held, extraScopes } = reviewed;
    const make = (tool: DeclaredTool, hold?: Omit<HeldTool, 'tool'>): EdgeTool[] => {
      const exposed = nameOf(names, backend, tool.original);
      if (exposed === undefined) return [];
      const requiredScopes = [...new Set([tool.scope, ...(extraScopes?.get(tool.original) ?? [])])];
      const { replacedBy } = tool.deprecated ?? {};
      const replacement = replacedBy && this.#exposedIn(backend, replacedBy, names);
      return [this.#edgeTool(tool, { backend, exposed, requiredScopes, ...(hold && { held: hold }) }, replacement)];
    };
    return [
      ...served.tools.flatMap((tool) => make(tool)),
      // Held back ones are known by name, so that a call of one is told why.
      ...held.flatMap(({ tool, ...hold }) => (declared.tools.length === 0 ? [] : make(tool, hold))),
    ].sort((a, b) => byText(a.name, b.name));
  }

  #exposedIn(backend: Backend, original: string, names: Names): string {
    const known = nameOf(names, backend, original);
    return known ?? exposedName({ ...backend, kind: 'tool', original }, this.options.max);
  }

  #edgeTool(
    declared: DeclaredTool,
    more: Pick<FederatedTool, 'backend' | 'exposed' | 'requiredScopes' | 'held'>,
    replacement: string | undefined,
  ): EdgeTool {
    const { exposed, requiredScopes, held } = more;
    const added = JSON.stringify([exposed, requiredScopes, held?.why, replacement]);
    const before = this.#made.get(declared);
    if (before?.added === added) return before.tool;
    const federated: FederatedTool = { ...declared, ...more, digest: this.options.digestOf(declared) };
    const tool = federatedEdgeTool(federated, { replacement, longestMs: this.options.longestMs });
    this.#made.set(declared, { tool, added });
    return tool;
  }

  #kept<T extends object, More extends { backend: Backend; exposed?: string }>(item: T, more: More): T & More {
    const before = this.#items.get(item) as (T & More) | undefined;
    if (before !== undefined && before.exposed === more.exposed) return before;
    const made = { ...item, ...more };
    this.#items.set(item, made);
    return made;
  }

  #nameAll(kind: NameKind, shelves: readonly OnShelf[], collisions: string[]): Names {
    const claims = this.#names[kind];
    const wishes = shelves.flatMap(({ backend, declared, healthy }) => {
      const { id, prefix } = backend;
      const held = claims.get(id);
      const originals = (kind === 'tool' ? declared.tools : declared.prompts).map(({ original }) => original);
      // Whoever is away holds what it held, heard since the start or not.
      const all = healthy === true || held === undefined ? originals : new Set([...originals, ...held.keys()]);
      return [...all].map((original): Named => ({ id, prefix, kind, original, claim: held?.get(original) }));
    });
    const { reserves, max } = this.options;
    // A prompt cannot be mistaken for a tool of ours.
    const assigned = assignNames(wishes, kind === 'tool' ? reserves : () => false, max);
    collisions.push(...assigned.collisions);
    const names = new Map<string, Map<string, string>>(shelves.map(({ backend }) => [backend.id, new Map()]));
    for (const { item, exposed } of assigned.named) names.get(item.id)?.set(item.original, exposed);
    this.#names[kind] = names;
    return names;
  }
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i]);

function difference(before: readonly EdgeTool[], after: readonly EdgeTool[]): string[] {
  const old = new Map(before.map((tool) => [tool.name, tool]));
  const changes: string[] = [];
  for (const tool of after) {
    const was = old.get(tool.name);
    if (was !== tool) changes.push(`${was === undefined ? '+' : '~'}${tool.name}`);
    old.delete(tool.name);
  }
  return [...changes, ...[...old.keys()].map((name) => `-${name}`)];
}

/** Byte order: exposed names are ASCII. */
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byName = (a: { backend: Backend; exposed: string }, b: { backend: Backend; exposed: string }): number =>
  a.backend.order - b.backend.order || byText(a.exposed, b.exposed);
