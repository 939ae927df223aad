import type { Bus, BusMessage, StoredMessage } from '@cortex/bus';
import { type BlobRef, INLINE_LIMIT, SSE_STREAM, subjects } from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import type { RpcId } from '../mcp/envelope.js';

/** Whose answer a stream carries: the instance that runs the request, and the request. */
export interface Call {
  readonly owner: string;
  readonly id: RpcId;
  readonly method: string;
}

/** One event of a stream of a session. */
export interface LoggedEvent {
  /** Rises by one within a stream. 0 is its beginning, which has no data. */
  readonly n: number;
  /** One JSON-RPC message. */
  readonly data: Buffer;
  /** Nothing follows it. */
  readonly last: boolean;
  /** Set in streams that carry an answer. */
  readonly call?: Call;
}
/** Position in the log itself. */
type Stored = LoggedEvent & { readonly seq: number };
/** As it goes by: a large body is not in it. */
export type Heard = Omit<LoggedEvent, 'data'> & { readonly data: Buffer | undefined };

const N = 'Cortex-Event';
const LAST = 'Cortex-Last';
const CALL = 'Cortex-Call';
const BLOB = 'Cortex-Blob';

/**
 * The events of resumable streams, kept by the stream `CORTEX_SSE` for ten minutes or a thousand each. Every instance of the edge reads them,
 * so it does not matter which one a client comes back to. Source: gateway, sections 5.6 and 24.1.
 */
export class EventLog {
  constructor(private readonly bus: Bus) {}

  /** Resolves when the event is kept. The same one twice is kept once. */
  async append(session: string, stream: string, { n, data, last, call }: LoggedEvent): Promise<void> {
    const subject = subjects.sse(session, stream);
    const blob = data.length > INLINE_LIMIT ? await this.bus.blobs.put(data) : undefined;
    await this.bus.publishAcked(subject, blob ? '' : data, {
      msgId: `${subject}.${n}`,
      headers: {
        [N]: String(n),
        ...(last && { [LAST]: '1' }),
        ...(call && { [CALL]: packed(call) }),
        ...(blob && { [BLOB]: packed(blob) }),
      },
    });
  }

  /** The newest event of a stream, null when none is kept. */
  async newest(session: string, stream: string): Promise<Omit<LoggedEvent, 'data'> | null> {
    const message = await this.bus.direct.last(SSE_STREAM, subjects.sse(session, stream));
    return message && own(message);
  }

  /** What is kept of a stream from a position in the log on, oldest first. */
  async *from(session: string, stream: string, seq: number): AsyncIterable<Stored> {
    const subject = subjects.sse(session, stream);
    for (let next = seq; ;) {
      const message = await this.bus.direct.next(SSE_STREAM, subject, next);
      if (message === null) return;
      next = message.seq + 1;
      const event = await this.#whole(message);
      if (event) yield { ...event, seq: message.seq };
    }
  }

  /**
   * Tells each event as it is appended, wherever that happens, perhaps before it can be read; `missed`: some may have gone by unheard. Returns
   * the way to stop.
   */
  follow(session: string, stream: string, heard: (event: Heard) => void, missed: () => void): () => void {
    const subscription = this.bus.subscribe(subjects.sse(session, stream), (message) => {
      const event = read(message);
      if (event) heard({ ...event, data: message.headers?.has(BLOB) ? undefined : Buffer.from(message.data) });
    });
    const offStatus = this.bus.onStatus((up) => up && missed());
    return () => {
      offStatus();
      subscription.unsubscribe();
    };
  }

  /** Null for what is no event of ours. */
  async #whole(message: StoredMessage): Promise<LoggedEvent | null> {
    const event = own(message);
    if (event === null) return null;
    const blob = unpacked(message.headers?.get(BLOB)) as BlobRef | undefined;
    return { ...event, data: Buffer.from(blob ? await this.bus.blobs.get(blob) : message.data) };
  }
}

/** Null for what was not published here. */
const own = (message: StoredMessage): Omit<LoggedEvent, 'data'> | null => (message.copied ? null : read(message));

function read({ headers }: Pick<BusMessage, 'headers'>): Omit<LoggedEvent, 'data'> | null {
  const n = Number(headers?.get(N) || Number.NaN);
  if (!Number.isSafeInteger(n)) return null;
  const call = unpacked(headers?.get(CALL)) as Call | undefined;
  return { n, last: headers?.has(LAST) === true, ...(call && { call }) };
}

/** An id may hold characters that a header may not. */
const packed = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function unpacked(text: string | undefined): object | undefined {
  if (!text) return undefined;
  const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  return isObject(value) ? value : undefined;
}
