import { RPC } from '../mcp/envelope.js';
import { HttpRefusal, type EdgeCore, type HttpExchange } from '../seams.js';
import type { Settings } from '../settings.js';
import type { Connections } from './connections.js';
import type { EventLog } from './event-log.js';
import { eventId, type Position } from './event-id.js';
import { errorOf, resultOf, responseBytes, type Reply } from './message.js';
import type { Got } from './get-streams.js';
import { Replay } from './replay.js';
import { POLLING } from './revision.js';
import type { SessionRecord } from './session-store.js';
import type { SessionStreams, StreamLog } from './session-stream.js';
import type { EventStream, Streams } from './streams.js';

export interface ResumptionParts {
  core: EdgeCore;
  settings: Pick<Settings, 'CORTEX_SSE_RETRY_MS' | 'CORTEX_SSE_POLL_AFTER_MS'>;
  log: EventLog;
  connections: Connections;
  streams: Streams;
  sessionStreams: SessionStreams;
  /** Of this process. */
  instance: string;
  /** Whether an instance of the edge still runs. */
  lives: (instance: string) => boolean;
  tell: StreamLog;
}

interface Resumed {
  replay: Replay;
  connection: EventStream;
}

/**
 * Clients that come back for the answer to a request whose connection ended: each gets the later events of that one stream, then those that
 * come. Source: gateway, section 5.6.
 */
export class Resumption {
  /** By session and stream: the newest connection is the client's. */
  readonly #resumed = new Map<string, Resumed>();
  readonly #stopLooking: () => void;

  constructor(private readonly parts: ResumptionParts) {
    this.#stopLooking = parts.streams.onTick(() => {
      for (const { replay } of this.#resumed.values()) void this.#look(replay);
    });
  }

  /** Answers a GET. Rejects, with nothing answered, while the log cannot be read. */
  async resume(exchange: HttpExchange, session: SessionRecord, position: Position): Promise<Got> {
    const { core, log, connections, sessionStreams, settings, tell } = this.parts;
    const { stream, n } = position;
    const here = () => sessionStreams.get(session.id, stream);
    // The client may be faster than the log.
    await here()?.kept;
    const live = here();
    const newest = live ? { n: live.n, last: false } : await log.newest(session.id, stream);
    // In the language of event streams: nothing will come, do not ask again. A stream that ends would be asked for for ever.
    if (newest === null || (newest.last && n >= newest.n) || (live && n > newest.n)) {
      core.answer.empty(exchange, 204);
      return 'failed';
    }
    // An event is sent before it is kept: of a process that was killed in between, the client knows more than the log.
    const from = { stream, n: Math.min(n, newest.n) };
    const key = `${session.id}.${stream}`;
    const before = this.#resumed.get(key);
    const connection = connections.open(exchange, 'resumed', before?.connection);
    if (connection instanceof HttpRefusal) {
      core.answer.refuse(exchange, connection);
      return 'denied';
    }
    before?.replay.end();
    const polls = session.protocol_version === POLLING;
    if (polls) connection.prime(eventId(position), settings.CORTEX_SSE_RETRY_MS);
    const replay = new Replay(log, connection, session.id, from, this.parts.streams, tell);
    this.#resumed.set(key, { replay, connection });
    const polled = polls ? endAfter(connection, settings) : undefined;
    connection.onClose(() => {
      clearTimeout(polled);
      if (this.#resumed.get(key)?.replay === replay) this.#resumed.delete(key);
    });
    await replay.catchUp();
    return 'succeeded';
  }

  /** The session is over. */
  end(session: string): void {
    for (const { replay } of this.#resumed.values()) if (replay.session === session) replay.end();
  }

  /** Ends what waits for other processes, and says how many wait for answers of this one. */
  close(all: boolean): number {
    let left = 0;
    for (const { replay } of this.#resumed.values()) {
      if (!all && this.#writtenHere(replay)) left++;
      else replay.end();
    }
    if (all) this.#stopLooking();
    return left;
  }

  /** A request whose process died gets no answer any more: that is said, once for everybody who asks. */
  async #look(replay: Replay): Promise<void> {
    const { call } = replay;
    if (call === undefined || this.#writerLives(replay)) return;
    if (!(await replay.catchUp()) || !replay.open) return;
    const { log, tell } = this.parts;
    const data = responseBytes(call.id, lost(call.method));
    await log
      .append(replay.session, replay.stream, { n: replay.at + 1, data, last: true, call })
      .catch((error: unknown) => tell('warn', 'the end of a lost request cannot be told', { error }));
  }

  #writerLives(replay: Replay): boolean {
    const { call } = replay;
    return (
      call !== undefined &&
      (call.owner === this.parts.instance ? this.#writtenHere(replay) : this.parts.lives(call.owner))
    );
  }

  #writtenHere({ session, stream }: Replay): boolean {
    return this.parts.sessionStreams.get(session, stream) !== undefined;
  }
}

/** Ends a connection, not its stream, where clients are to poll. */
export function endAfter(
  connection: EventStream,
  { CORTEX_SSE_POLL_AFTER_MS: after, CORTEX_SSE_RETRY_MS: retry }: ResumptionParts['settings'],
): NodeJS.Timeout | undefined {
  return after === 0 ? undefined : setTimeout(() => connection.endForNow(retry), after).unref();
}

/** It may have run to its end, or not at all. */
function lost(method: string): Reply {
  const text = 'The answer was lost because the server that made it stopped';
  if (method !== 'tools/call') return errorOf(RPC.internal, `${text}; send the request again`);
  const advice = 'and whether the call took effect is unknown; look before you repeat it';
  return resultOf({ content: [{ type: 'text', text: `${text}, ${advice}` }], isError: true });
}
