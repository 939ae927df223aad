import { formOf, hasForm } from '../federation/schemas/forms.js';
import { NO_DEFAULTS, profileFor, type ProfileDefaults } from '../federation/schemas/profile-rules.js';
import { BASIC, ORIGINAL } from '../federation/schemas/profiles.js';
import { wrapOutput } from '../federation/schemas/wrap-output.js';
import {
  MODERN,
  type CallerContext,
  type CatalogTool,
  type EdgeLog,
  type ListOptions,
  type Revision,
} from '../seams.js';
import type { Catalog } from './catalog.js';
import type { EdgeTool } from './edge-tool.js';
import { listBytes } from './list-bytes.js';
import { visibilityKey } from './visibility.js';

/** Offered for calls always, listed only where the list is a short one. */
const SEARCH_MODE_ONLY = new Set(['find_tools']);
const KNOWS_OUTPUT_SCHEMA = new Set<Revision>([MODERN, '2025-11-25', '2025-06-18']);
const BYTES = 32 * 1024 * 1024;
/** Of one caller, which asks for few kinds of lists. */
const KEYS = 64;
const TTL_MS = 60_000;
/** How long the forms of schemas may be worked on at a stretch after a change. */
const SLICE_MS = 5;
/** A list made before every announcement was told must not be kept by a client. */
const TTL_INCOMPLETE_MS = 1_000;

/** `m` the revision of today; `o` the older ones that know output schemas, as objects alone; `x` those that know none. */
type Family = 'm' | 'o' | 'x';

const familyOf = (revision: Revision): Family =>
  revision === MODERN ? 'm' : KNOWS_OUTPUT_SCHEMA.has(revision) ? 'o' : 'x';

/** What became of the schemas of a list in a profile, by the names of the tools. */
interface Account {
  readonly changed: string[];
  readonly omitted: string[];
}

export interface PreparedListsOptions {
  readonly defaults?: ProfileDefaults;
  readonly log?: Pick<EdgeLog, 'warn'>;
}

/** Answers of `tools/list` as prepared bytes: one Buffer per visible set, revision family, header choice and profile. */
export class PreparedLists {
  readonly #buffers = new Map<string, Buffer>();
  #newest = '';
  /** The keys in it by caller and what was asked for: all scopes stand in one, so it is put together once. */
  readonly #keys = new WeakMap<CallerContext, Map<string, string>>();
  /** Tools that have no form in a profile, by `<profile> <name>`: told once, counted while they are there. */
  readonly #omitted = new Map<string, EdgeTool>();
  /** Profiles that lists were asked in, or will be: a few at most, since there are few steps. */
  readonly #profiles: Set<string>;
  #warming: NodeJS.Immediate | undefined;
  #bytes = 0;
  #version = 0;
  #complete = false;
  #shelves: ReadonlySet<string> = new Set();

  constructor(
    private readonly catalog: Catalog,
    private readonly serverInfo: string,
    private readonly options: PreparedListsOptions = {},
  ) {
    const { fallback, rules } = options.defaults ?? NO_DEFAULTS;
    this.#profiles = new Set([fallback, BASIC, ...rules.map(({ profile }) => profile)]);
    catalog.onChange(() => this.#warm(), true);
  }

  /** The whole `result` object. `options` have passed `listFault`. */
  get(caller: CallerContext, revision: Revision, options: ListOptions = {}): Buffer {
    if (this.#version !== this.catalog.version || this.#complete !== this.catalog.complete) this.#forget();
    const family = familyOf(revision);
    const profile = this.profile(options);
    // Ids that nobody has would make a list of their own for every word that a client thinks of.
    const backends = options.backends?.filter((id) => this.#shelves.has(id));
    const key = this.#key(caller, `${family}|${options.search ? 's' : ''}|${profile}|${backends?.join(',') ?? '*'}`);
    const known = this.#buffers.get(key);
    if (known !== undefined) {
      // Least recently used is first. A map that is put in order for every request leaves a chain of old tables to the collector.
      if (key !== this.#newest) {
        this.#buffers.delete(key);
        this.#buffers.set(key, known);
        this.#newest = key;
      }
      return known;
    }
    this.#profiles.add(profile);
    const made = this.#make(caller, family, profile, options);
    this.#buffers.set(key, made);
    this.#newest = key;
    this.#bytes += made.length;
    for (const [oldest, buffer] of this.#buffers) {
      if (this.#bytes <= BYTES || buffer === made) break;
      this.#buffers.delete(oldest);
      this.#bytes -= buffer.length;
    }
    return made;
  }

  /** Of what is asked for, by the client's name, or of the installation. */
  profile({ schemas, client }: ListOptions): string {
    return profileFor(this.options.defaults ?? NO_DEFAULTS, schemas, client);
  }

  /** The whole definition of a tool as this request would get it in a list; undefined where the tool would be left out. */
  definitionOf({ name }: CatalogTool, revision: Revision, options: ListOptions): string | undefined {
    const tool = this.catalog.find(name);
    return tool && this.#shown(tool, familyOf(revision), this.profile(options), false, { changed: [], omitted: [] });
  }

  /** Tools without a form in some profile that was asked for; of the catalogue that the last list was made of. */
  get omitted(): EdgeTool[] {
    return [...this.#omitted.values()];
  }

  #key(caller: CallerContext, asked: string): string {
    let keys = this.#keys.get(caller);
    if (keys === undefined) this.#keys.set(caller, (keys = new Map()));
    let key = keys.get(asked);
    if (key === undefined) {
      if (keys.size >= KEYS) keys.clear();
      keys.set(asked, (key = `${asked}|${visibilityKey(caller)}`));
    }
    return key;
  }

  #make(caller: CallerContext, family: Family, profile: string, { search = false, backends }: ListOptions): Buffer {
    const account: Account = { changed: [], omitted: [] };
    const offered = this.catalog.visible(caller).filter((tool) => search || !SEARCH_MODE_ONLY.has(tool.name));
    const asked = offered.filter(
      (tool) => backends === undefined || tool.block === 'builtin' || backends.includes(tool.shelf),
    );
    const tools = asked
      .map((tool) => (search ? tool.listing.short : undefined) ?? this.#shown(tool, family, profile, search, account))
      .filter((text) => text !== undefined);
    const hidden = offered.length - asked.length;
    const own = [
      ...(profile === ORIGINAL ? [] : [`"cortex/schemaProfile":${JSON.stringify({ profile, ...account })}`]),
      // Whoever finds a tool missing is told that the filter it asked for hides some.
      ...(hidden === 0 ? [] : [`"cortex/hidden":${JSON.stringify({ tools: hidden, by: 'X-Cortex-Backends' })}`]),
    ].join(',');
    const ttl = this.catalog.complete ? TTL_MS : TTL_INCOMPLETE_MS;
    const tail =
      family === 'm'
        ? `,"ttlMs":${ttl},"cacheScope":"private","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${this.serverInfo}${own && `,${own}`}}`
        : own && `,"_meta":{${own}}`;
    return listBytes(tools, tail);
  }

  /** One definition in a profile and in the words of a family of revisions; undefined where it has no such form. */
  #shown(tool: EdgeTool, family: Family, profile: string, search: boolean, account: Account): string | undefined {
    const { full, schemas, write, wraps } = tool.listing;
    const form = profile === ORIGINAL ? { ...schemas, changed: false } : formOf(schemas, profile);
    if ('omitted' in form) {
      account.omitted.push(tool.name);
      this.#tell(tool, profile, form.omitted);
      return undefined;
    }
    if (form.changed) account.changed.push(tool.name);
    if (family === 'x' || search) return write(form.input, undefined);
    if (family === 'm' || form.output === undefined) return form.changed ? write(form.input, form.output) : full;
    return write(form.input, wraps ? wrapOutput(form.output) : form.output);
  }

  /** Works out the forms of what changed before a list asks for them, in slices: nobody waits for two thousand schemas. */
  #warm(): void {
    clearImmediate(this.#warming);
    const profiles = [...this.#profiles].filter((profile) => profile !== ORIGINAL);
    const work = this.catalog
      .all()
      .flatMap(({ listing }) => profiles.map((profile) => [listing.schemas, profile] as const))
      .filter((wanted) => !hasForm(...wanted));
    const slice = (): void => {
      const until = performance.now() + SLICE_MS;
      for (let next = work.pop(); next !== undefined; next = work.pop()) {
        formOf(...next);
        if (performance.now() > until) break;
      }
      if (work.length > 0) this.#warming = setImmediate(slice).unref();
    };
    slice();
  }

  #tell(tool: EdgeTool, profile: string, why: string): void {
    const key = `${profile} ${tool.name}`;
    if (this.#omitted.get(key)?.listing === tool.listing) return;
    this.#omitted.set(key, tool);
    this.options.log?.warn(
      { backend: tool.shelf, tool: tool.name, profile, why },
      'a tool is left out of the lists of a schema profile, since its schemas have no such form',
    );
  }

  #forget(): void {
    this.#buffers.clear();
    this.#bytes = 0;
    this.#version = this.catalog.version;
    this.#complete = this.catalog.complete;
    this.#shelves = new Set(this.catalog.all().map(({ shelf }) => shelf));
    const living = new Set(this.catalog.all().map(({ listing }) => listing));
    for (const [key, { listing }] of this.#omitted) if (!living.has(listing)) this.#omitted.delete(key);
  }
}
