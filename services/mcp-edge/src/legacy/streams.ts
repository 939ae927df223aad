import type { ServerResponse } from 'node:http';

/** What a slow client may leave unread before the next event; then its stream ends (threat T18). */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** A client that has read nothing of what it was sent for so long has no use for the rest. */
const STALLED_MS = 30_000;
const LF = 10;
const CR = 13;

/** One `text/event-stream` response. */
export class EventStream {
  #lastWrite: number;
  #ended = false;

  constructor(
    private readonly res: ServerResponse,
    /** Milliseconds since 1970 when the stream ends: the token's end, or Infinity. */
    readonly expiresAt: number,
    private readonly now: () => number = Date.now,
    stalledMs = STALLED_MS,
  ) {
    this.#lastWrite = now();
    // Neither did anything come nor was any of what is unread taken; also after the end, until all of it is.
    res.setTimeout(stalledMs, () => res.writableLength > 0 && res.destroy());
  }

  get open(): boolean {
    return !this.#ended && !this.res.destroyed && !this.res.writableEnded;
  }

  /** Calls back also for a client that was gone before the stream began. */
  onClose(listener: () => void): void {
    if (this.res.destroyed) setImmediate(listener);
    else this.res.once('close', listener);
  }

  /** One event; `data` is one line. With an `id` a client can come back to it. */
  send(event: string, data: Buffer | string, id?: string): void {
    if (!this.open) return;
    if (this.res.writableLength > MAX_UNREAD_BYTES) {
      this.res.destroy();
      return;
    }
    this.#lastWrite = this.now();
    const named = id === undefined ? '' : `id: ${id}\n`;
    this.res.write(`${named}event: ${event}\ndata: `);
    this.res.write(oneLine(data));
    this.res.write('\n\n');
  }

  /** An empty event whose id a client comes back with when the connection ends, and how long it waits before it does. */
  prime(id: string, retryMs: number): void {
    this.#write(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`);
  }

  /** The connection ends and the stream does not: its client comes back after this time. */
  endForNow(retryMs: number): void {
    this.#write(`retry: ${retryMs}\n\n`);
    this.end();
  }

  /** One line that clients leave aside. */
  comment(text: string): void {
    this.#write(`: ${text}\n\n`);
  }

  /** Resolves when the client has taken what was sent, or is gone. */
  async taken(): Promise<void> {
    const { res } = this;
    if (!this.open || !res.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        res.off('drain', done).off('close', done);
        resolve();
      };
      res.on('drain', done).on('close', done);
    });
  }

  keepAlive(everyMs: number): void {
    // What is unread keeps a connection as alive as it is.
    if (!this.open || this.res.writableLength > 0 || this.now() - this.#lastWrite < everyMs) return;
    this.comment('keep-alive');
  }

  end(): void {
    if (this.open) this.res.end();
    this.#ended = true;
  }

  #write(text: string): void {
    if (!this.open) return;
    this.#lastWrite = this.now();
    this.res.write(text);
  }
}

/** JSON has line breaks between its tokens only, where a space says the same. */
function oneLine(data: Buffer | string): Buffer | string {
  if (typeof data === 'string') return /[\r\n]/.test(data) ? data.replace(/[\r\n]/g, ' ') : data;
  if (!data.includes(LF) && !data.includes(CR)) return data;
  return Buffer.from(data.map((byte) => (byte === LF || byte === CR ? 32 : byte)));
}

/** All open streams: one timer serves their keep-alive comments, their expiry and whatever else is to be looked after. */
export class Streams {
  readonly #open = new Set<EventStream>();
  readonly #onTick = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  #closing = false;

  constructor(
    private readonly keepAliveMs: number,
    private readonly now: () => number = Date.now,
  ) {
    this.#timer = setInterval(() => this.#sweep(), Math.min(1000, keepAliveMs / 3)).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  add(stream: EventStream): void {
    this.#open.add(stream);
    stream.onClose(() => this.#open.delete(stream));
  }

  /** Runs at every sweep until the returned function is called. */
  onTick(fn: () => void): () => void {
    this.#onTick.add(fn);
    return () => void this.#onTick.delete(fn);
  }

  /** Keep-alive goes on for the answers that are still being made. */
  close(): void {
    this.#closing = true;
  }

  #sweep(): void {
    for (const fn of this.#onTick) fn();
    for (const stream of this.#open) {
      if (this.now() >= stream.expiresAt) stream.end();
      else stream.keepAlive(this.keepAliveMs);
    }
    if (this.#closing && this.#open.size === 0 && this.#onTick.size === 0) clearInterval(this.#timer);
  }
}
