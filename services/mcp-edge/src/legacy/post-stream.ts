import type { HttpExchange, EdgeCore } from '../seams.js';
import type { Settings } from '../settings.js';
import type { LegacyMetrics } from './connections.js';
import { responseBytes, type LegacyRequest, type Reply } from './message.js';
import { endAfter } from './resumption.js';
import { POLLING } from './revision.js';
import type { SessionStream, SessionStreams } from './session-stream.js';
import type { SessionRecord } from './session-store.js';
import { EventStream, type Streams } from './streams.js';

/**
 * Until then the answer can still carry a status of its own, such as the 403 of a missing scope. Later it is of use that the client knows the
 * id to come back with.
 */
const OPEN_AFTER_MS = 500;

export interface PostStreamParts {
  core: EdgeCore;
  settings: Pick<Settings, 'CORTEX_SSE_RETRY_MS' | 'CORTEX_SSE_POLL_AFTER_MS'>;
  streams: Streams;
  sessionStreams: SessionStreams;
  metrics: Pick<LegacyMetrics, 'streams'>;
}

/**
 * The answer to one POST as a stream. It opens with the answer, or earlier so that comments keep a long call's connection
 * alive. A client that goes away does not cancel: only `notifications/cancelled` does.
 */
export class PostStream {
  #stream: SessionStream | undefined;
  #connection: EventStream | undefined;
  #polled: NodeJS.Timeout | undefined;
  readonly #waiting: NodeJS.Timeout;

  constructor(
    private readonly parts: PostStreamParts,
    private readonly exchange: HttpExchange,
    private readonly session: SessionRecord,
    private readonly request: LegacyRequest,
  ) {
    this.#waiting = setTimeout(() => this.#openEarly(), OPEN_AFTER_MS).unref();
  }

  /** One message ahead of the answer. */
  tell(message: string): void {
    this.#openEarly().send(message);
  }

  /** Ends the connection alone: the client comes back for the rest. */
  readonly closeConnection = (): void => {
    this.#openEarly();
    this.#connection?.endForNow(this.parts.settings.CORTEX_SSE_RETRY_MS);
  };

  /** False when the answer is left to the caller: it has a status of its own, and no stream was opened yet. */
  finish(reply: Reply): boolean {
    const status = 'error' in reply ? (reply.status ?? 200) : 200;
    if (this.#stream === undefined && status !== 200) {
      clearTimeout(this.#waiting);
      return false;
    }
    const stream = this.#stream ?? this.#open();
    // Who has not got a first id cannot come back.
    stream.send(responseBytes(this.request.id, reply), { last: true, keep: this.#polls || stream.n > 0 });
    return true;
  }

  /** Nothing more is told. */
  end(): void {
    clearTimeout(this.#waiting);
    clearTimeout(this.#polled);
    this.#connection?.end();
    if (this.#stream) void this.parts.sessionStreams.end(this.#stream);
  }

  get #polls(): boolean {
    return this.session.protocol_version === POLLING;
  }

  #openEarly(): SessionStream {
    if (this.#stream) return this.#stream;
    const stream = this.#open();
    stream.begin();
    if (this.#polls && this.#connection) this.#polled = endAfter(this.#connection, this.parts.settings);
    return stream;
  }

  #open(): SessionStream {
    clearTimeout(this.#waiting);
    const { core, settings, streams, sessionStreams, metrics } = this.parts;
    const { id, method } = this.request;
    core.answer.openStream(this.exchange);
    const connection = (this.#connection = new EventStream(this.exchange.res, Infinity));
    streams.add(connection);
    metrics.streams.inc({ kind: 'post' });
    connection.onClose(() => metrics.streams.dec({ kind: 'post' }));
    const stream = (this.#stream = sessionStreams.begin(this.session.id, 'answer', { id, method }));
    if (this.#polls) connection.prime(stream.newest, settings.CORTEX_SSE_RETRY_MS);
    stream.attach(connection);
    return stream;
  }
}
