import { randomBytes } from 'node:crypto';
import {
  cancelled,
  deadlineExceeded,
  inboxPrefix,
  invalidArgument,
  isCortexError,
  permissionDenied,
  resourceExhausted,
  unavailable,
  type BusUser,
  type CortexError,
} from '@cortex/contracts';
import { createInbox, errors, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import type { PublishOptions, RequestOptions } from './bus.js';
import { Waiting } from './waiting.js';

interface Call {
  token: string;
  subject: string;
  resolve(message: Msg): void;
  reject(error: CortexError): void;
  deadline: number;
  sent: boolean;
  /** Takes the listener off the caller's abort signal. */
  release?: () => void;
}

type Outgoing = [subject: string, data: string | Uint8Array, options: PublishOptions | undefined, call?: Call];

/** Calls that wait at most; what is above is refused before it is sent. */
export const MAX_WAITING = 1024;
/** With what JetStream answers: its answers come at once, and a full house of slow calls must not keep their records out. */
const MAX_WITH_LOG = 2 * MAX_WAITING;
const SWEEP_MS = 50;
/**
 * Since the connection was lost: for so long what is not sent yet waits for the one that is being made. After a new password or a restart
 * of a node that takes a tenth of it; a bus that is away for longer is said to be away at once.
 */
const RECONNECT_MS = 2000;
/** Bytes that wait for it at most; what is above is lost, or refused, as without a connection. */
const MAX_KEPT = 16 * 1024 * 1024;
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

/**
 * Requests and acknowledged publishes over one inbox; everything of one event-loop turn leaves in one write. The stock
 * client's request costs twice the CPU, and waits for its whole timeout when the connection has gone.
 */
export class CallMux {
  readonly #inbox: string;
  readonly #service: BusUser;
  readonly #waiting = new Waiting<Call>();
  readonly #sweep: NodeJS.Timeout;
  #queue: Outgoing[] = [];
  #nc: NatsConnection | undefined;
  #up = false;
  /** Until when the queue is kept while there is no connection. */
  #keptUntil = 0;
  #keptBytes = 0;
  #maxPayload = DEFAULT_MAX_PAYLOAD;

  constructor(service: BusUser) {
    this.#service = service;
    this.#inbox = `${createInbox(inboxPrefix(service))}.`;
    this.#sweep = setInterval(() => this.#expire(), SWEEP_MS).unref();
  }

  get up(): boolean {
    return this.#up;
  }

  /** Whether a message is sent: now, or with the connection that is being made again. */
  get takes(): boolean {
    return this.#up || (performance.now() < this.#keptUntil && this.#keptBytes < MAX_KEPT);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get maxPayload(): number {
    return this.#maxPayload;
  }

  /** Once, with the first connection; the client keeps it and its subscriptions over reconnects. */
  attach(nc: NatsConnection): void {
    this.#nc = nc;
    nc.subscribe(`${this.#inbox}*`, { callback: (error, message) => this.#settle(error, message) });
    this.connected();
  }

  connected(): void {
    this.#maxPayload = this.#nc?.info?.max_payload ?? this.#maxPayload;
    this.#up = true;
    this.#keptBytes = 0;
    this.flush();
  }

  /** An answer to what was sent can no longer come; what is queued waits a moment for the next connection. */
  disconnected(): void {
    if (this.#up) this.#keptUntil = performance.now() + RECONNECT_MS;
    this.#up = false;
    for (const { token, sent, subject } of this.#waiting.all()) {
      if (sent) this.#take(token)?.reject(outcomeUnknown(subject));
    }
  }

  /** The server refuses a subject without telling which message: all calls on it have been refused. */
  refused(subject: string): boolean {
    const calls = this.#waiting.all().filter((call) => call.subject === subject);
    for (const { token } of calls) this.#take(token)?.reject(forbidden(subject, this.#service));
    return calls.length > 0;
  }

  close(): void {
    clearInterval(this.#sweep);
    this.disconnected();
    this.#giveUp();
  }

  publish(subject: string, data: string | Uint8Array, options?: PublishOptions): void {
    this.#assertSize(data, options?.headers);
    if (this.takes) this.#enqueue([subject, data, options]);
  }

  request(subject: string, data: string | Uint8Array, options: RequestOptions & { ofLog?: true }): Promise<Msg> {
    const { timeoutMs, headers, signal } = options;
    return new Promise((resolve, reject) => {
      if (!this.takes) return reject(notSent());
      if (signal?.aborted) return reject(aborted('was not sent'));
      const most = options.ofLog ? MAX_WITH_LOG : MAX_WAITING;
      if (this.#waiting.size >= most) {
        return reject(
          resourceExhausted(undefined, `${most} calls of this process wait already`, 'try again in a moment'),
        );
      }
      this.#assertSize(data, headers); // what an executor throws is a rejection
      const deadline = performance.now() + timeoutMs;
      const call = this.#waiting.add(randomToken(), (token): Call => ({
        token,
        subject,
        resolve,
        reject,
        deadline,
        sent: false,
      }));
      const { token } = call;
      if (signal) {
        const abort = () =>
          this.#take(token)?.reject(aborted(call.sent ? 'may have been carried out' : 'was not sent'));
        signal.addEventListener('abort', abort, { once: true });
        call.release = () => signal.removeEventListener('abort', abort);
      }
      this.#enqueue([subject, data, { headers, reply: this.#inbox + token }, call]);
    });
  }

  /** Sends what is queued now, unless it waits for a connection. */
  flush(): void {
    if (!this.#up) return;
    const out = this.#queue;
    this.#queue = [];
    for (const [subject, data, options, call] of out) {
      // Its caller has been told already (aborted, timed out): not sent is better than an answer to nobody.
      if (call && !this.#waiting.has(call)) continue;
      try {
        this.#nc?.publish(subject, bytesOf(data), options);
        if (call) call.sent = true;
      } catch (error) {
        if (call) this.#take(call.token)?.reject(fromClient(error, subject));
      }
    }
  }

  #enqueue(item: Outgoing): void {
    if (!this.#up) this.#keptBytes += item[1].length;
    else if (this.#queue.length === 0) setImmediate(() => this.flush());
    this.#queue.push(item);
  }

  /** No connection was made in time, or none is wanted any more. */
  #giveUp(): void {
    this.#keptUntil = 0;
    this.#keptBytes = 0;
    this.#queue = [];
    for (const { token } of this.#waiting.all()) this.#take(token)?.reject(notSent());
  }

  #take(token: string): Call | undefined {
    const call = this.#waiting.take(token);
    call?.release?.();
    return call;
  }

  #settle(error: Error | null, message: Msg): void {
    if (error) return; // the inbox itself was refused: status tells, the calls run into their deadlines
    const call = this.#take(message.subject.slice(this.#inbox.length));
    if (!call) return; // too late: its caller has been told
    if (message.data.length === 0 && message.headers?.code === 503) call.reject(noResponder(call.subject));
    else call.resolve(message);
  }

  #expire(): void {
    const now = performance.now();
    if (!this.#up && now >= this.#keptUntil) return this.#giveUp();
    for (const { token, deadline, subject, sent } of this.#waiting.all()) {
      if (deadline <= now) this.#take(token)?.reject(sent ? late(subject) : notSent());
    }
  }

  #assertSize(data: string | Uint8Array, headers?: MsgHdrs): void {
    // Three bytes are the most that one UTF-16 unit takes: nearly every message is done here.
    if (!headers && data.length * 3 <= this.#maxPayload) return;
    const size = (typeof data === 'string' ? Buffer.byteLength(data) : data.length) + headerBytes(headers);
    if (size > this.#maxPayload) throw tooLarge(size, this.#maxPayload);
  }
}

/** Out of the pool: the client's own encoder takes memory from outside the heap for every message, at twice the time. */
const bytesOf = (data: string | Uint8Array): Uint8Array => (typeof data === 'string' ? Buffer.from(data) : data);

/** `NATS/1.0`, one line per value, an empty line. */
function headerBytes(headers: MsgHdrs | undefined): number {
  if (!headers) return 0;
  let bytes = 12;
  for (const [name, values] of headers) {
    for (const value of values) bytes += name.length + Buffer.byteLength(value) + 4;
  }
  return bytes;
}

let pool = '';
let used = 0;
/** 48 random bits, so that who has answered one call cannot answer its neighbours for others; one system call for 512 of them. */
function randomToken(): string {
  if (used + 12 > pool.length) {
    pool = randomBytes(6 * 512).toString('hex');
    used = 0;
  }
  return pool.slice(used, (used += 12));
}

export const notSent = (): CortexError =>
  unavailable('bus', 'is not connected, nothing was changed', 'try again in a moment', {
    details: { outcome: 'not_sent' },
  });

const noResponder = (subject: string): CortexError =>
  unavailable('bus', `has nobody who answers ${subject}, nothing was changed`, 'see that the service runs', {
    details: { outcome: 'not_sent', no_responder: true },
  });

export const outcomeUnknown = (subject: string): CortexError =>
  unavailable(
    'bus',
    `lost its connection while ${subject} was answered; the outcome is unknown`,
    'send it again with the same idempotency key',
    {
      details: { outcome: 'unknown' },
    },
  );

/** Whether it was sent and its connection was lost before an answer came: who may repeat it can, since the connection is made again. */
export const isCutOff = (error: unknown): boolean =>
  isCortexError(error) && error.kind === 'unavailable' && error.details?.['outcome'] === 'unknown';

const late = (subject: string): CortexError =>
  deadlineExceeded('bus', `got no answer to ${subject} in time`, 'read what was done before you send it again', {
    reason: 'timeout',
    details: { outcome: 'unknown' },
  });

const aborted = (what: string): CortexError => cancelled('call', `was cancelled and ${what}`, '');

const forbidden = (subject: string, user: string): CortexError =>
  permissionDenied(
    'bus',
    `does not let ${user} send ${subject}`,
    'add the sender to the table of subjects and provision again',
    {
      reason: 'forbidden',
    },
  );

export const tooLarge = (size: number, limit: number): CortexError =>
  invalidArgument(
    'message',
    `has ${size} bytes with its headers, the bus takes ${limit}`,
    'send large bodies by reference',
    {
      reason: 'too_large',
      details: { size, limit },
    },
  );

function fromClient(error: unknown, subject: string): CortexError {
  if (error instanceof errors.InvalidSubjectError) {
    return invalidArgument('subject', `"${subject}" is none`, 'use tokens without spaces, joined by dots');
  }
  return unavailable('bus', 'is closed, nothing was changed', 'try again in a moment', { cause: error });
}
