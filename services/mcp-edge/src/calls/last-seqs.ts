const KEEP_MS = 60_000;
const MAX = 20_000;

/** The highest `last_seq` that a caller was given by a service, for a minute: its next read waits for it (architecture, section 11.2). */
export class LastSeqs {
  readonly #seqs = new Map<string, { seq: number; until: number }>();

  get(caller: string, service: string): number | undefined {
    if (this.#seqs.size === 0) return undefined;
    const key = `${service} ${caller}`;
    const entry = this.#seqs.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > performance.now()) return entry.seq;
    this.#seqs.delete(key);
    return undefined;
  }

  note(caller: string, service: string, seq: number): void {
    const key = `${service} ${caller}`;
    const before = this.#seqs.get(key)?.seq ?? 0;
    this.#seqs.delete(key);
    this.#seqs.set(key, { seq: Math.max(seq, before), until: performance.now() + KEEP_MS });
    // In order of writing, so the first ones are the oldest.
    for (const [oldest, { until }] of this.#seqs) {
      if (until > performance.now() && this.#seqs.size <= MAX) break;
      this.#seqs.delete(oldest);
    }
  }
}
