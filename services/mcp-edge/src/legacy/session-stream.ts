import type { Bus } from '@cortex/bus';
import type { Call, EventLog } from './event-log.js';
import { type Carries, eventId, newStreamId } from './event-id.js';
import type { EventStream } from './streams.js';

/** The log of the service; streams only warn. */
export type StreamLog = (level: 'warn', message: string, fields: Record<string, unknown>) => void;

/**
 * The events of one stream of a session as this process makes them: numbered, written to the connection that is there from the beginning,
 * and kept for whoever comes back.
 */
export class SessionStream {
  #n: number;
  #connection: EventStream | undefined;
  #kept: Promise<void> = Promise.resolve();

  constructor(
    readonly session: string,
    readonly id: string,
    private readonly log: EventLog,
    private readonly tell: StreamLog,
    private readonly call: Call | undefined,
    n = 0,
  ) {
    this.#n = n;
  }

  /** Events so far. */
  get n(): number {
    return this.#n;
  }

  /** The id of the newest event; of the beginning where there is none yet. */
  get newest(): string {
    return eventId({ stream: this.id, n: this.#n });
  }

  /** Resolves when every event so far is kept, or failed to be. */
  get kept(): Promise<void> {
    return this.#kept;
  }

  /** What is sent from now on is written here too, until this is called again. */
  attach(connection: EventStream | undefined): void {
    this.#connection = connection;
  }

  /** Keeps the beginning, so that the stream is known before its first event. */
  begin(): void {
    this.#keep(0, Buffer.alloc(0), false);
  }

  /** One JSON-RPC message. `keep` false: for an event that nobody can ask for again. */
  send(message: string | Buffer, { last = false, keep = true } = {}): void {
    this.#n++;
    const data = typeof message === 'string' ? Buffer.from(message) : message;
    this.#connection?.send('message', data, this.newest);
    if (keep) this.#keep(this.#n, data, last);
  }

  /** One after the other: what is tried again must not land behind what came later. */
  #keep(n: number, data: Buffer, last: boolean): void {
    const { session, id, call } = this;
    this.#kept = this.#kept
      // Behind the last event nobody asks whether the call still runs.
      .then(() => this.log.append(session, id, { n, data, last, ...(call && !last && { call }) }))
      .catch((error: unknown) =>
        this.tell('warn', 'an event of a stream is not kept; whoever resumes the stream misses it', { error }),
      );
  }
}

/** The streams of sessions that are written by this process. */
export class SessionStreams {
  readonly #live = new Map<string, SessionStream>();

  constructor(
    private readonly bus: Pick<Bus, 'instance'>,
    private readonly log: EventLog,
    private readonly tell: StreamLog,
  ) {}

  begin(session: string, carries: Carries, request?: Omit<Call, 'owner'>): SessionStream {
    const call = request && { owner: this.bus.instance, ...request };
    return this.#add(new SessionStream(session, newStreamId(carries), this.log, this.tell, call));
  }

  /** Goes on with notifications of a stream that another process began. */
  adopt(session: string, id: string, n: number): SessionStream {
    return this.#add(new SessionStream(session, id, this.log, this.tell, undefined, n));
  }

  get(session: string, id: string): SessionStream | undefined {
    return this.#live.get(keyOf(session, id));
  }

  /** Nothing more is written to it. It is known until all of it is kept, since its client may come back right now. */
  async end(stream: SessionStream): Promise<void> {
    stream.attach(undefined);
    await stream.kept;
    const key = keyOf(stream.session, stream.id);
    if (this.#live.get(key) === stream) this.#live.delete(key);
  }

  #add(stream: SessionStream): SessionStream {
    this.#live.set(keyOf(stream.session, stream.id), stream);
    return stream;
  }
}

const keyOf = (session: string, id: string): string => `${session}.${id}`;
