import { HttpRefusal, type CallerContext, type EdgeCore, type HttpExchange } from '../seams.js';
import type { EdgeMetrics } from '../metrics.js';
import { EventStream, type Streams } from './streams.js';

const MAX_OPEN = 1024;
const MAX_PER_CALLER = 100;

/** What of the edge's metrics this layer moves. */
export type LegacyMetrics = Pick<EdgeMetrics, 'sessions' | 'streams'>;

/** Connections that clients open to listen, as many as there may be (threat T18). Each ends with the token that opened it. */
export class Connections {
  /** By whose they are. */
  readonly #open = new Map<EventStream, string>();
  #closed = false;

  constructor(
    private readonly core: EdgeCore,
    private readonly streams: Streams,
    private readonly metrics: LegacyMetrics,
    private readonly skewSeconds: number,
  ) {}

  /** One more, unless it takes the place of one that is open. */
  open(
    exchange: HttpExchange,
    kind: 'get' | 'sse' | 'resumed',
    before: EventStream | undefined,
  ): EventStream | HttpRefusal {
    const { caller, res } = exchange;
    if (this.#closed) return new HttpRefusal(503, '{"error":"shutting_down"}', { 'Retry-After': '1' });
    if ((before === undefined || !this.#open.has(before)) && this.#full(caller)) return TOO_MANY;
    // A stream's connection ends with it: kept alive it would keep the listener from closing at a stop.
    this.core.answer.openStream(exchange, { Connection: 'close' });
    const stream = new EventStream(res, this.endOf(caller));
    this.#open.set(stream, caller.caller_key);
    this.streams.add(stream);
    this.metrics.streams.inc({ kind });
    stream.onClose(() => {
      this.metrics.streams.dec({ kind });
      this.#open.delete(stream);
    });
    return stream;
  }

  /** None opens afterwards. */
  close(): void {
    this.#closed = true;
  }

  /** Milliseconds: the token's end, or that of the clock skew for a token that lives on it already. */
  endOf({ exp }: CallerContext): number {
    return exp * 1000 > Date.now() ? exp * 1000 : (exp + this.skewSeconds) * 1000;
  }

  #full({ caller_key }: CallerContext): boolean {
    if (this.#open.size >= MAX_OPEN) return true;
    let own = 0;
    for (const key of this.#open.values()) if (key === caller_key) own++;
    return own >= MAX_PER_CALLER;
  }
}

const TOO_MANY = new HttpRefusal(429, '{"jsonrpc":"2.0","error":{"code":429,"message":"Too many open streams"}}', {
  'Retry-After': '60',
});
