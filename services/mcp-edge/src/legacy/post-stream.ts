import type { RpcId } from '../mcp/envelope.js';
import type { EdgeCore, HttpExchange } from '../seams.js';
import type { LegacyMetrics } from './listeners.js';
import { responseBytes, type Reply } from './message.js';
import { EventStream, type Streams } from './streams.js';

/** Until then the answer can still carry a status of its own, such as the 403 of a missing scope. */
const OPEN_AFTER_MS = 2_000;

/**
 * The answer to one POST as a stream. It opens with the answer, or earlier so that comments keep a long call's connection
 * alive. A client that goes away does not cancel: only `notifications/cancelled` does.
 */
export class PostStream {
  #stream: EventStream | undefined;
  readonly #stopWaiting: () => void;

  constructor(
    private readonly core: EdgeCore,
    private readonly exchange: HttpExchange,
    private readonly streams: Streams,
    private readonly metrics: Pick<LegacyMetrics, 'streams'>,
  ) {
    const openAt = Date.now() + OPEN_AFTER_MS;
    this.#stopWaiting = streams.chore(() => {
      if (Date.now() >= openAt) this.#open();
    });
  }

  /** One message ahead of the answer. */
  tell(message: string): void {
    this.#open().send('message', message);
  }

  /** False when the answer is left to the caller: it has a status of its own, and no stream was opened yet. */
  finish(id: RpcId, reply: Reply): boolean {
    const status = 'error' in reply ? (reply.status ?? 200) : 200;
    if (this.#stream === undefined && status !== 200) {
      this.#stopWaiting();
      return false;
    }
    const stream = this.#open();
    stream.send('message', responseBytes(id, reply));
    stream.end();
    return true;
  }

  #open(): EventStream {
    this.#stopWaiting();
    if (this.#stream) return this.#stream;
    this.core.answer.openStream(this.exchange);
    this.#stream = new EventStream(this.exchange.res, Infinity);
    this.streams.add(this.#stream);
    this.metrics.streams.inc({ kind: 'post' });
    this.#stream.onClose(() => this.metrics.streams.dec({ kind: 'post' }));
    return this.#stream;
  }
}
