import { MODERN, type CallerContext, type ListOptions, type Revision } from '../seams.js';
import type { Catalog } from './catalog.js';
import { visibilityKey } from './visibility.js';

/** Offered for calls always, listed only where the list is a short one. */
const SEARCH_MODE_ONLY = new Set(['find_tools']);
const KNOWS_OUTPUT_SCHEMA = new Set<Revision>([MODERN, '2025-11-25', '2025-06-18']);
const BYTES = 32 * 1024 * 1024;
const TTL_MS = 60_000;
/** A list made before every announcement was told must not be kept by a client. */
const TTL_INCOMPLETE_MS = 1_000;

/** Answers of `tools/list` as prepared bytes: one Buffer per visible set, revision family and header choice. */
export class PreparedLists {
  readonly #buffers = new Map<string, Buffer>();
  #bytes = 0;
  #version = 0;
  #complete = false;

  constructor(
    private readonly catalog: Catalog,
    private readonly serverInfo: string,
  ) {}

  /** The whole `result` object. */
  get(caller: CallerContext, revision: Revision, options: ListOptions = {}): Buffer {
    if (this.#version !== this.catalog.version || this.#complete !== this.catalog.complete) this.#forget();
    const family = revision === MODERN ? 'm' : KNOWS_OUTPUT_SCHEMA.has(revision) ? 'o' : 'x';
    const key = `${family}|${options.search ? 's' : ''}|${options.backends?.join(',') ?? '*'}|${visibilityKey(caller)}`;
    const known = this.#buffers.get(key);
    if (known !== undefined) {
      // Least recently used is first.
      this.#buffers.delete(key);
      this.#buffers.set(key, known);
      return known;
    }
    const made = this.#make(caller, family, options);
    this.#buffers.set(key, made);
    this.#bytes += made.length;
    for (const [oldest, buffer] of this.#buffers) {
      if (this.#bytes <= BYTES || buffer === made) break;
      this.#buffers.delete(oldest);
      this.#bytes -= buffer.length;
    }
    return made;
  }

  #make(caller: CallerContext, family: 'm' | 'o' | 'x', { search = false, backends }: ListOptions): Buffer {
    const tools = this.catalog
      .visible(caller)
      .filter((tool) => search || !SEARCH_MODE_ONLY.has(tool.name))
      .filter((tool) => backends === undefined || tool.block === 'builtin' || backends.includes(tool.shelf))
      .map(({ listing }) => (search ? listing.short : family === 'x' ? listing.old : listing.full));
    const ttl = this.catalog.complete ? TTL_MS : TTL_INCOMPLETE_MS;
    const tail =
      family === 'm'
        ? `,"ttlMs":${ttl},"cacheScope":"private","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":${this.serverInfo}}`
        : '';
    return Buffer.from(`{"tools":[${tools.join(',')}]${tail}}`);
  }

  #forget(): void {
    this.#buffers.clear();
    this.#bytes = 0;
    this.#version = this.catalog.version;
    this.#complete = this.catalog.complete;
  }
}
