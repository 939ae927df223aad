import type { Call, EventLog, Heard, LoggedEvent } from './event-log.js';
import { eventId, type Position } from './event-id.js';
import type { StreamLog } from './session-stream.js';
import type { EventStream, Streams } from './streams.js';

/**
 * Writes one stream of a session to a connection from a position on: first what the log has, then what comes. Its writer may be in any
 * process. Ends the connection behind the stream's last event.
 */
export class Replay {
  #at: number;
  /** Position in the log behind what was read of it. */
  #seq = 1;
  /** The newest event that was heard of. */
  #heard = 0;
  #reading: Promise<boolean> | undefined;
  #again = false;
  #call: Call | undefined;
  readonly #stop: () => void;

  constructor(
    private readonly log: EventLog,
    private readonly connection: EventStream,
    readonly session: string,
    private readonly position: Position,
    streams: Streams,
    private readonly tell: StreamLog,
  ) {
    this.#at = position.n;
    // First the subscription, then the log: nothing falls between them.
    const { stream } = position;
    const stops = [
      log.follow(
        session,
        stream,
        (event) => this.#hear(event),
        () => void this.catchUp(),
      ),
      // For what was heard of before it could be read.
      streams.onTick(() => void (this.#heard > this.#at && this.catchUp())),
    ];
    this.#stop = () => stops.forEach((stop) => stop());
    connection.onClose(this.#stop);
  }

  get stream(): string {
    return this.position.stream;
  }
  /** The last event that was written. */
  get at(): number {
    return this.#at;
  }
  get open(): boolean {
    return this.connection.open;
  }
  /** Whose answer this is, once an event said so. */
  get call(): Call | undefined {
    return this.#call;
  }

  /** Reads what the log has and the connection has not. False when the log cannot be read; never rejects. */
  catchUp(): Promise<boolean> {
    this.#again = true;
    this.#reading ??= this.#read()
      .catch((error: unknown) => {
        this.tell('warn', 'a stream cannot be read from the log just now', { error });
        return false;
      })
      .finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  end(): void {
    this.#stop();
    this.connection.end();
  }

  #hear(event: Heard): void {
    this.#heard = Math.max(this.#heard, event.n);
    if (event.n <= this.#at) return;
    const { data } = event;
    if (this.#reading === undefined && data && event.n === this.#at + 1) this.#write({ ...event, data });
    else void this.catchUp();
  }

  async #read(): Promise<boolean> {
    while (this.#again && this.open) {
      this.#again = false;
      for await (const event of this.log.from(this.session, this.position.stream, this.#seq)) {
        this.#seq = event.seq + 1;
        this.#write(event);
        // The log is faster than any client.
        await this.connection.taken();
        if (!this.open) break;
      }
    }
    return true;
  }

  #write({ n, data, last, call }: LoggedEvent): void {
    this.#call ??= call;
    if (n > this.#at) {
      const lost = n - this.#at - 1;
      if (lost > 0) this.connection.comment(`not kept of the events before this one: ${lost}`);
      this.#at = n;
      this.connection.send('message', data, eventId({ stream: this.position.stream, n }));
    }
    if (last) this.end();
  }
}
