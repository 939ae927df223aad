import type { Bus, KvBucket } from '@cortex/bus';
import { BUCKETS } from '@cortex/contracts';
import { z } from 'zod';
import type { EdgeLog } from '../seams.js';
import { exposedName, type NameKind } from './names.js';
import type { Backend } from './types.js';

/** Exposed names of one kind: by backend, by original name. */
export type Names = ReadonlyMap<string, ReadonlyMap<string, string>>;
export type NamesByKind = Readonly<Record<NameKind, Names>>;

/** By its original name alone where it has the name that it would have by itself. */
const KeptNames = z.array(z.union([z.string(), z.tuple([z.string(), z.string()])]));
/** Names that were given under another prefix or budget are nobody's any more. */
const Kept = z.object({ v: z.literal(1), prefix: z.string(), max: z.number(), tool: KeptNames, prompt: KeptNames });
type Kept = z.output<typeof Kept>;

export interface NameClaimsOptions {
  readonly bucket: KvBucket;
  readonly backends: readonly Backend[];
  /** Characters of the longest exposed name. */
  readonly max: number;
  readonly log: EdgeLog;
}

const KEY = 'names.';
/** A server takes 1 MiB with all that is around it. */
const MAX_BYTES = 1_000_000;
const KINDS = ['tool', 'prompt'] as const;

/**
 * Who holds which exposed name, kept over restarts: of two backends that want the same one the holder keeps it, although the other stands before
 * it or answers first while the holder is away. Where every backend has its default prefix no two can want the same, and nothing is kept.
 * Source: gateway, section 13.7.
 */
export class NameClaims {
  readonly #contested: boolean;
  /** What the bucket holds, by backend. */
  readonly #texts = new Map<string, string>();
  /** What was kept last, by backend: the same objects are the same names. */
  readonly #done = new Map<string, readonly unknown[]>();
  #held: NamesByKind | undefined;
  #reading: Promise<NamesByKind> | undefined;

  constructor(private readonly options: NameClaimsOptions) {
    this.#contested = options.backends.some(({ id, prefix }) => prefix !== `${id}_`);
    if (!this.#contested) this.#held = { tool: new Map(), prompt: new Map() };
  }

  /** The names that were held when this was last written. Throws `unavailable` while the bucket cannot be read. */
  async read(): Promise<NamesByKind> {
    if (this.#held !== undefined) return this.#held;
    this.#reading ??= this.#all().finally(() => (this.#reading = undefined));
    return (this.#held = await this.#reading);
  }

  /** Keeps what a backend's items are called now; what cannot be written is tried again with the next change or refresh. */
  async keep(backend: Backend, names: NamesByKind): Promise<void> {
    if (!this.#contested) return;
    const { bucket, log, max } = this.options;
    const { id, prefix } = backend;
    const now = KINDS.map((kind) => names[kind].get(id));
    const before = this.#done.get(id);
    if (now.every((one, i) => one === before?.[i])) return;
    const kept: Kept = {
      v: 1,
      prefix,
      max,
      tool: this.#kept(backend, 'tool', names),
      prompt: this.#kept(backend, 'prompt', names),
    };
    const text = JSON.stringify(kept);
    const fits = Buffer.byteLength(text) <= MAX_BYTES;
    if (!fits) log.warn({ backend: id }, 'its names are too many to be kept over a restart');
    try {
      if (fits && this.#texts.get(id) !== text) await bucket.put(KEY + id, text);
      this.#texts.set(id, text);
      this.#done.set(id, now);
    } catch (error) {
      log.warn({ backend: id, err: error }, 'its names could not be kept; tried again with the next refresh');
    }
  }

  async #all(): Promise<NamesByKind> {
    const { bucket, backends, log } = this.options;
    const held = { tool: new Map<string, Map<string, string>>(), prompt: new Map<string, Map<string, string>>() };
    const gone: string[] = [];
    for await (const { key, value } of bucket.walk(`${KEY}>`)) {
      const id = key.slice(KEY.length);
      const backend = backends.find((one) => one.id === id);
      const text = Buffer.from(value).toString('utf8');
      if (backend === undefined) gone.push(key);
      else this.#restore(backend, text, held);
    }
    // A backend that left the configuration holds nothing any more, also if it comes back.
    for (const key of gone) await bucket.delete(key);
    if (gone.length > 0)
      log.info(
        { backends: gone.map((key) => key.slice(KEY.length)) },
        'let go of the names of backends that are not configured',
      );
    return held;
  }

  #restore(backend: Backend, text: string, held: Record<NameKind, Map<string, Map<string, string>>>): void {
    const { max, log } = this.options;
    const { id, prefix } = backend;
    const kept = readKept(text);
    if (kept === undefined) {
      log.warn({ backend: id }, 'what was kept of its names cannot be read; they are given anew');
      return;
    }
    if (kept.prefix !== prefix || kept.max !== max) return;
    this.#texts.set(id, text);
    for (const kind of KINDS) {
      const names = kept[kind].map((name): [string, string] =>
        typeof name === 'string' ? [name, exposedName({ id, prefix, kind, original: name }, max)] : [...name],
      );
      held[kind].set(id, new Map(names));
    }
  }

  #kept({ id, prefix }: Backend, kind: NameKind, names: NamesByKind): Kept['tool'] {
    const own = [...(names[kind].get(id) ?? [])];
    return own.map(([original, exposed]) =>
      exposed === exposedName({ id, prefix, kind, original }, this.options.max) ? original : [original, exposed],
    );
  }
}

/** Undefined for what another release or nobody wrote. */
function readKept(text: string): Kept | undefined {
  try {
    return Kept.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The claims of this installation. */
export const nameClaims = (bus: Bus, backends: readonly Backend[], max: number, log: EdgeLog): NameClaims =>
  new NameClaims({ bucket: bus.kv(BUCKETS.catalog.name), backends, max, log });
