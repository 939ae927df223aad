import type { Bus, BusMessage, BusSubscription } from '@cortex/bus';
import { inboxPrefix, isCortexError, unavailable } from '@cortex/contracts';
import { createInbox } from '@nats-io/transport-node';
import type { LogMessage } from './commit.js';

/** A message that a durable consumer delivered. */
export interface Delivered extends LogMessage {
  /** Counts all deliveries of the consumer, so a gap means that somebody else got one, or that one was lost. */
  deliverySeq: number;
  /** 1 for the first delivery of this message. */
  delivery: number;
  /** Messages of the consumer that come after this one. */
  pending: number;
  /** Where it is acknowledged. */
  ack: string;
}

export interface ConsumerState {
  /** Highest delivery count and stream sequence given out. */
  delivered: { consumer_seq: number; stream_seq: number };
  ack_floor: { consumer_seq: number; stream_seq: number };
  num_ack_pending: number;
  num_pending: number;
}

/** The pull is of no use any more: make a new one, after a pause. */
export class PullLost extends Error {
  override readonly name = 'PullLost';
}

/** The view and its log do not belong together: the database is not the one that had what was acknowledged, or the log has lost its end. */
export class ViewLost extends Error {
  override readonly name = 'ViewLost';
}

const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
const NS = 1_000_000;
const NOT_FOUND = 404;

export interface PullOptions {
  bus: Bus;
  stream: string;
  consumer: string;
  /** Messages that one pull asks for. */
  batch: number;
  /** Asks for the next ones while the last ones are worked on; only where nothing is acknowledged. */
  ahead?: boolean;
}

const ASK_MS = 2_000;
const LONGEST_ASK_MS = 60_000;

/**
 * How long to wait for what the server tells of a stream or consumer: twice as long after each answer that did not come. One of release
 * 2.9 that has just begun looks through its whole log for what a filter lets pass, some seconds per consumer of a million messages,
 * and who asks again makes it look again. Not so long from the beginning: what a leader was asked that died is never answered.
 */
export class Patience {
  #ms = ASK_MS;

  async ask<T>(question: (timeoutMs: number) => Promise<T>): Promise<T> {
    try {
      const answer = await question(this.#ms);
      this.#ms = ASK_MS;
      return answer;
    } catch (error) {
      if (isCortexError(error) && error.kind === 'deadline_exceeded') this.#ms = Math.min(2 * this.#ms, LONGEST_ASK_MS);
      throw error;
    }
  }
}

/** State of a consumer as the server tells it. Errors: `unavailable`; `PullLost` when there is no such consumer. */
export async function consumerState(
  bus: Bus,
  stream: string,
  consumer: string,
  timeoutMs = ASK_MS,
): Promise<ConsumerState> {
  const reply = await bus.request(`$JS.API.CONSUMER.INFO.${stream}.${consumer}`, '', { timeoutMs });
  const info = reply.json<ConsumerState & { error?: { code: number; description?: string } }>();
  if (info.error?.code === NOT_FOUND) throw new PullLost(`consumer ${consumer} is not there; run provisioning`);
  // The servers of a cluster choose a leader, for example.
  if (info.error)
    throw unavailable(
      'bus',
      `cannot tell of consumer ${consumer} (${info.error.description})`,
      'try again in a moment',
    );
  return { ...info, num_ack_pending: unacknowledged(info) };
}

/**
 * Messages that were given out and not acknowledged. There are no more than were given out since everything was acknowledged, whatever the
 * server counts: one of release 2.9 goes on counting some of them after a change of the consumer's leader, and gives them out for ever.
 */
export const unacknowledged = ({
  delivered,
  ack_floor,
  num_ack_pending,
}: Omit<ConsumerState, 'num_pending'>): number =>
  ack_floor.stream_seq >= delivered.stream_seq
    ? 0
    : Math.min(num_ack_pending, delivered.consumer_seq - ack_floor.consumer_seq);

/**
 * Why a view cannot be gone on with; null when it can. A batch is acknowledged after its checkpoint is written, and is in the log before
 * that, so a checkpoint is never behind what was acknowledged, unless the server passed over messages that the stream does not hold any
 * more, nor behind which the log ends.
 */
export function lossOf(checkpoint: number, { ack_floor }: ConsumerState, stream: StreamState): Loss | null {
  if (checkpoint > stream.last_seq) return { of: 'log', upTo: checkpoint };
  // A consumer may not have noticed that its log ends earlier now.
  const upTo = Math.min(ack_floor.stream_seq, stream.last_seq);
  return upTo > checkpoint && upTo >= stream.first_seq ? { of: 'view', upTo } : null;
}

/** `view`: it lacks what was in it up to a sequence. `log`: it ends before what the view had from it. */
export interface Loss {
  of: 'view' | 'log';
  upTo: number;
}

export interface StreamState {
  first_seq: number;
  last_seq: number;
}

/** The sequences that a stream holds, as its leader tells it. Errors: `unavailable`. */
export async function streamState(bus: Bus, stream: string, timeoutMs = ASK_MS): Promise<StreamState> {
  const reply = await bus.request(`$JS.API.STREAM.INFO.${stream}`, '', { timeoutMs });
  const { state, error } = reply.json<{
    state?: StreamState;
    error?: { description?: string };
  }>();
  if (!state) throw unavailable('bus', `cannot tell of ${stream} (${error?.description})`, 'try again in a moment');
  return state;
}

/**
 * Where everything that a consumer has given out up to a sequence is acknowledged at once; of one that acknowledges all before it. The
 * form is the server's (ADR-15).
 */
export const acknowledgementOf = (
  stream: string,
  consumer: string,
  seq: number,
  { delivered }: ConsumerState,
): string => `$JS.ACK.${stream}.${consumer}.1.${seq}.${delivered.consumer_seq}.${Date.now() * NS}.0`;

/**
 * Pulls from a durable consumer by hand: messages come as they are, all that have come are taken at once, and whatever
 * goes wrong ends it, so that its user starts afresh instead of waiting on a consumer that gives nothing (P83).
 */
export class Pull {
  readonly #options: PullOptions;
  readonly #inbox: string;
  readonly #subscription: BusSubscription;
  readonly #offStatus: () => void;
  readonly #watch: NodeJS.Timeout;
  #buffer: Delivered[] = [];
  #asked = 0;
  #batch: number;
  #heard = performance.now();
  #lost: PullLost | undefined;
  #wake: (() => void) | undefined;

  constructor(options: PullOptions) {
    const { bus } = options;
    this.#options = options;
    this.#batch = options.batch;
    this.#inbox = createInbox(inboxPrefix(bus.service));
    this.#subscription = bus.subscribe(this.#inbox, (message) => this.#take(message));
    this.#offStatus = bus.onStatus((up) => up || this.#lose('the bus went away'));
    this.#watch = setInterval(() => {
      // One that was answered in full is silent, however long its messages are worked on.
      if (this.#asked > 0 && performance.now() - this.#heard > 2.5 * HEARTBEAT_MS) this.#lose('heartbeats are missing');
    }, HEARTBEAT_MS / 2).unref();
    if (!bus.up) this.#lose('the bus is away');
  }

  /** What has come and was not taken yet. */
  get buffered(): number {
    return this.#buffer.length;
  }

  /**
   * All that has come, at least one message; [] when `waitMs` passed or the signal aborted. `batch` is what a new pull
   * asks for, if one is needed. Errors: `PullLost`.
   */
  async next(waitMs: number, signal?: AbortSignal, batch?: number): Promise<Delivered[]> {
    if (batch !== undefined) this.#batch = batch;
    if (this.#buffer.length === 0) {
      this.#ask();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', done);
          resolve();
        };
        this.#wake = done;
        signal?.addEventListener('abort', done, { once: true });
        if (this.#lost || signal?.aborted) done();
      });
      this.#wake = undefined;
    }
    if (this.#lost) throw this.#lost;
    if (this.#options.ahead) this.#ask();
    return this.#buffer.splice(0);
  }

  /** Ends it and hands back what was not taken, so that it comes again at once and not after the whole ack wait. */
  close(handBack: readonly Delivered[] = []): void {
    this.#subscription.unsubscribe();
    this.#offStatus();
    clearInterval(this.#watch);
    if (this.#options.bus.up) {
      for (const { ack } of [...handBack, ...this.#buffer]) this.#options.bus.publish(ack, '-NAK');
    }
    this.#buffer = [];
  }

  #ask(): void {
    if (this.#asked > 0 || this.#lost) return;
    const { bus, stream, consumer } = this.#options;
    const batch = this.#batch;
    this.#asked = batch;
    this.#heard = performance.now();
    const request = { batch, expires: EXPIRES_MS * NS, idle_heartbeat: HEARTBEAT_MS * NS };
    bus.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), { reply: this.#inbox });
  }

  #take(message: BusMessage): void {
    this.#heard = performance.now();
    // What was sent to the inbox itself is no delivery: these bear the subject under which they are stored (T81).
    const delivered = message.subject === this.#inbox ? null : readDelivery(message, this.#options);
    if (delivered) {
      this.#buffer.push(delivered);
      this.#asked--;
      this.#wake?.();
      return;
    }
    switch (message.headers?.code) {
      case undefined:
      case 0: // headers without a status
        return; // no delivery of this consumer: whoever sent it, it is nothing to us (T81)
      case 100:
        return;
      case 404:
      case 408:
        this.#asked = 0; // this pull is done, the next call asks again
        if (this.#wake) this.#ask();
        return;
      case 409: {
        const text = message.headers?.description ?? '';
        if (!/batch completed|max.?ack.?pending|maxbytes/i.test(text)) return this.#lose(text);
        this.#asked = 0;
        if (this.#wake) this.#ask();
        return;
      }
      default:
        this.#lose(message.headers?.description || `status ${message.headers?.code}`);
    }
  }

  #lose(because: string): void {
    this.#lost ??= new PullLost(because);
    this.#wake?.();
  }
}

/** `$JS.ACK.<stream>.<consumer>.<delivery>.<seq>.<delivery seq>.<time>.<pending>`, newer servers with a domain before. */
function readDelivery(message: BusMessage, { stream, consumer }: PullOptions): Delivered | null {
  const ack = message.reply;
  if (!ack?.startsWith('$JS.ACK.')) return null;
  const tokens = ack.split('.');
  const at = tokens.length > 9 ? 4 : 2;
  if (tokens[at] !== stream || tokens[at + 1] !== consumer) return null;
  const [delivery, seq, deliverySeq, , pending] = tokens.slice(at + 2).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  if (!(delivery > 0 && seq > 0 && deliverySeq > 0)) return null;
  const { subject, data, headers } = message;
  const copied = headers?.has('Nats-Stream') === true;
  return { subject, data, ...(headers && { headers }), copied, seq, deliverySeq, delivery, pending, ack };
}
