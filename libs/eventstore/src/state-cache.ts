/** Bytes that an entry costs beside its state. */
const OVERHEAD = 200;

/** Least recently used out, by number and by bytes; the size of a state is estimated, not measured. */
export class StateCache<Entry extends { state: unknown }> {
  readonly #entries = new Map<string, { entry: Entry; bytes: number }>();
  #bytes = 0;

  constructor(
    readonly maxEntries: number,
    readonly maxBytes: number,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(subject: string): Entry | undefined {
    const held = this.#entries.get(subject);
    if (!held) return undefined;
    this.#entries.delete(subject);
    this.#entries.set(subject, held);
    return held.entry;
  }

  put(subject: string, entry: Entry): void {
    this.delete(subject);
    const bytes = OVERHEAD + 2 * subject.length + sizeOf(entry.state);
    if (bytes > this.maxBytes) return;
    this.#entries.set(subject, { entry, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.maxEntries && this.#bytes <= this.maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(subject: string): void {
    const held = this.#entries.get(subject);
    if (!held) return;
    this.#entries.delete(subject);
    this.#bytes -= held.bytes;
  }
}

/** About the heap bytes of a state; Map and Set count too, which JSON would leave out. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 16 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  let bytes = 32;
  if (value instanceof Map) for (const [key, item] of value) bytes += 32 + sizeOf(key) + sizeOf(item);
  else if (value instanceof Set || Array.isArray(value)) for (const item of value) bytes += 8 + sizeOf(item);
  else for (const key in value) bytes += 16 + sizeOf((value as Record<string, unknown>)[key]);
  return bytes;
}
