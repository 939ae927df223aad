import { Bag, type Bagged } from '@cortex/bus/bag';
import type { Answer, HttpExchange } from '../seams.js';

const SWEEP_MS = 1_000;

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

  stop(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const now = performance.now();
    for (const pending of this.#pending.items()) {
      const { exchange } = pending;
      if (exchange.res.destroyed) this.#pending.delete(pending);
      else if (!pending.streaming) {
        if (now - exchange.started < this.afterMs) continue;
        this.answer.openStream(exchange);
        pending.streaming = true;
        pending.lastWrite = now;
      } else if (now - pending.lastWrite >= this.keepAliveMs) {
        exchange.res.write(': keepalive\n\n');
        pending.lastWrite = now;
      }
    }
  }
}

export type PendingAnswer = Pending;
