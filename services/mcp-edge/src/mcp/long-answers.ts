import { Bag, type Bagged } from '@cortex/bus/bag';
import type { Answer, HttpExchange } from '../seams.js';

const SWEEP_MS = 1_000;
/** What a client may leave unread before it is told nothing more (threat T18). */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** An answer that is not there yet. */
interface Pending extends Bagged {
  readonly exchange: HttpExchange;
  streaming: boolean;
  lastWrite: number;
}

/**
 * A long call's answer turns from JSON into an event stream after ten seconds, so that comments can keep the connection alive. One timer
 * looks after all calls; a call that ends before costs one entry in a bag.
 */
export class LongAnswers {
  /** Milliseconds after which an answer becomes a stream; shorter in tests. */
  afterMs = 10_000;
  readonly #pending = new Bag<Pending>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly answer: Pick<Answer, 'openStream'>,
    private readonly keepAliveMs: number,
  ) {
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Only for clients that take an event stream. */
  begin(exchange: HttpExchange): Pending {
    const pending = { exchange, streaming: false, lastWrite: exchange.started, slot: -1 };
    this.#pending.add(pending);
    return pending;
  }

  end(pending: Pending): void {
    this.#pending.delete(pending);
  }

  /** One JSON-RPC message ahead of the answer, which is a stream from now on. Dropped for a client that reads too slowly. */
  tell(pending: Pending, message: string): void {
    const { res } = pending.exchange;
    if (res.destroyed || res.writableEnded) return;
    if (!pending.streaming) this.#open(pending);
    if (res.writableLength > MAX_UNREAD_BYTES) return;
    res.write(`event: message\ndata: ${message}\n\n`);
    pending.lastWrite = performance.now();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #open(pending: Pending): void {
    this.answer.openStream(pending.exchange);
    pending.streaming = true;
    pending.lastWrite = performance.now();
  }

  #sweep(): void {
    const now = performance.now();
    for (const pending of this.#pending.items()) {
      const { exchange } = pending;
      if (exchange.res.destroyed) this.#pending.delete(pending);
      else if (!pending.streaming) {
        if (now - exchange.started < this.afterMs) continue;
        this.#open(pending);
      } else if (now - pending.lastWrite >= this.keepAliveMs) {
        exchange.res.write(': keepalive\n\n');
        pending.lastWrite = now;
      }
    }
  }
}

export type PendingAnswer = Pending;
