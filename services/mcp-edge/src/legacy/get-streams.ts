import { headerValue } from '../mcp/envelope.js';
import { HttpRefusal, type EdgeCore, type HttpExchange, type LegacyRevision } from '../seams.js';
import type { Settings } from '../settings.js';
import type { EventLog } from './event-log.js';
import { carriesAnswer, eventId, type Position, readEventId } from './event-id.js';
import type { Listeners } from './listeners.js';
import { Replay } from './replay.js';
import type { Resumption } from './resumption.js';
import { POLLING } from './revision.js';
import type { SessionRecord } from './session-store.js';
import type { SessionStream, SessionStreams, StreamLog } from './session-stream.js';
import type { EventStream, Streams } from './streams.js';

export interface GetStreamParts {
  core: EdgeCore;
  settings: Pick<Settings, 'CORTEX_SSE_RETRY_MS'>;
  log: EventLog;
  streams: Streams;
  sessionStreams: SessionStreams;
  listeners: Listeners;
  resumption: Resumption;
  tell: StreamLog;
}

/** How a GET ended, as its record says it. */
export type Got = 'succeeded' | 'denied' | 'failed';

/** GET streams of the legacy revisions: the notifications of a session, or what a client missed of a stream. */
export class GetStreams {
  constructor(private readonly parts: GetStreamParts) {}

  /** Answers the exchange. Rejects, with nothing answered, while the log cannot be read. */
  async open(exchange: HttpExchange, session: SessionRecord | null, revision: LegacyRevision): Promise<Got> {
    const { core, listeners, resumption, sessionStreams } = this.parts;
    const { caller, headers, request_id } = exchange;
    if (session === null) {
      const key = `${caller.caller_hash}:${request_id}`;
      const connection = listeners.open(exchange, { key, kind: 'get', revision: () => revision });
      return connection instanceof HttpRefusal ? refused(core, exchange, connection) : 'succeeded';
    }
    const last = readEventId(headerValue(headers, 'last-event-id'));
    if (last && carriesAnswer(last)) return resumption.resume(exchange, session, last);
    const known = last && (await this.#known(session, last));
    const stream = known ?? sessionStreams.begin(session.id, 'notices');
    const connection = listeners.open(exchange, {
      key: session.id,
      kind: 'get',
      revision: () => revision,
      ...(session.subscriptions && { subscriptions: session.subscriptions }),
      stream,
    });
    if (connection instanceof HttpRefusal) {
      if (listeners.streamOf(session.id) !== stream) void sessionStreams.end(stream);
      return refused(core, exchange, connection);
    }
    const from = known && last ? last : { stream: stream.id, n: 0 };
    if (revision === POLLING) connection.prime(eventId(from), this.parts.settings.CORTEX_SSE_RETRY_MS);
    stream.attach(known ? undefined : connection);
    if (known) await this.#replay(stream, from, connection);
    return 'succeeded';
  }

  /** The stream that goes on behind an event; undefined for an event that nobody knows, of which nothing is replayed. */
  async #known(session: SessionRecord, { stream: id, n }: Position): Promise<SessionStream | undefined> {
    const { log, listeners, sessionStreams } = this.parts;
    const here = (): SessionStream | undefined => {
      const stream = listeners.streamOf(session.id);
      return stream?.id === id ? stream : undefined;
    };
    const own = here();
    if (own) return n <= own.n ? own : undefined;
    const newest = await log.newest(session.id, id);
    if (newest === null || n > newest.n) return undefined;
    return here() ?? sessionStreams.adopt(session.id, id, newest.n);
  }

  async #replay(stream: SessionStream, from: Position, connection: EventStream): Promise<void> {
    // The client may be faster than the log.
    await stream.kept;
    const { log, streams, tell } = this.parts;
    await new Replay(log, connection, stream.session, from, streams, tell).catchUp();
  }
}

function refused(core: EdgeCore, exchange: HttpExchange, refusal: HttpRefusal): 'denied' {
  core.answer.refuse(exchange, refusal);
  return 'denied';
}
