import type { Bus, Log, StoredMessage } from '@cortex/bus';
import { BATCH } from './provision-bus.js';
import {
  acknowledgementOf,
  consumerState,
  lossOf,
  Pull,
  PullLost,
  streamState,
  ViewLost,
  type ConsumerState,
  type Delivered,
  type Patience,
} from './pull.js';

const IDLE_MS = 30_000;

export interface OrderedOptions {
  bus: Bus;
  stream: string;
  /** The consumer's filter. */
  subject: string;
  consumer: string;
  /** The checkpoint: what is not above it is done with. */
  applied: number;
  /** What was acknowledged and is above the checkpoint is read again from the stream, every message of it, instead of ending in `ViewLost`. */
  reread?: boolean;
  /** Kept over the attempts of a view. */
  patience: Patience;
  signal: AbortSignal;
  log: Log;
}

/**
 * The messages of a durable consumer in the order of the stream, in batches, each of which was dealt with when the next
 * is asked for. A checkpoint that skips what is not above it loses a message that comes late, so nothing may come late:
 *
 * - what the consumer has given to anybody and nobody has acknowledged is read from the stream itself. The server would give it
 *   again, but not before its ack wait, and after changes of its leader nobody knows when;
 * - from then on every delivery is counted by the server; a gap means that somebody else was given a message, and ends the iteration.
 *
 * Ends with `PullLost`, with `ViewLost` before the first batch, or when the signal aborts.
 */
export async function* orderedBatches(options: OrderedOptions): AsyncGenerator<Delivered[], void, undefined> {
  const { bus, stream, consumer, applied, patience, signal, log } = options;
  const begin = await patience.ask((ms) => consumerState(bus, stream, consumer, ms));
  const state = await patience.ask((ms) => streamState(bus, stream, ms));
  const upTo = begin.delivered.stream_seq;
  const loss = lossOf(applied, begin, state);
  if (loss?.of === 'log')
    throw new ViewLost(`has what its log held at ${applied}, and the log ends at ${state.last_seq}; ${mend(consumer)}`);
  if (loss && !options.reread) throw new ViewLost(`lacks what was in it up to ${loss.upTo}; ${mend(consumer)}`);
  if (loss) log('warn', 'reads again what its database has lost', { consumer, from: applied + 1, to: upTo });
  // A leader that was just chosen may not have applied yet all that is stored; what it lacks would be passed over.
  if (state.last_seq < upTo) throw new PullLost(`${stream} ends at ${state.last_seq}, and ${upTo} was given out`);
  const last =
    upTo > applied ? yield* stored(options, begin, (loss ? applied : begin.ack_floor.stream_seq) + 1) : applied;
  if (signal.aborted) return;
  if (begin.num_ack_pending > 0) bus.publish(acknowledgementOf(stream, consumer, last, begin), '+ACK');
  const pull = new Pull({ bus, stream, consumer, batch: BATCH });
  let inHand: Delivered[] = [];
  try {
    let expected = begin.delivered.consumer_seq + 1;
    while (!signal.aborted) {
      inHand = await pull.next(IDLE_MS, signal);
      for (const { deliverySeq } of inHand) {
        if (deliverySeq !== expected) throw new PullLost(`delivery ${deliverySeq} came instead of ${expected}`);
        expected++;
      }
      // What the server gives again is older than what was read above, and the last of a batch acknowledges all before it.
      inHand.sort((a, b) => a.seq - b.seq);
      if (inHand.length > 0) yield inHand;
      inHand = [];
    }
  } finally {
    pull.close(inHand);
  }
}

/** What was given out and is above the checkpoint, as far as the stream still has it. Returns the last sequence, or the checkpoint. */
async function* stored(
  options: OrderedOptions,
  begin: ConsumerState,
  from: number,
): AsyncGenerator<Delivered[], number, undefined> {
  let last = options.applied;
  let batch: Delivered[] = [];
  for await (const message of givenOut(options, begin, from)) {
    if (message.seq <= options.applied) continue;
    last = message.seq;
    batch.push({ ...message, deliverySeq: 0, delivery: 1, pending: 0, ack: '' });
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
  return last;
}

/** Asks for no message more than there are: to find that none of a subject is left, a server may have to look through its whole log. */
async function* givenOut(
  { bus, stream, subject, signal }: OrderedOptions,
  { ack_floor, delivered, num_ack_pending }: ConsumerState,
  from: number,
): AsyncGenerator<StoredMessage, void, undefined> {
  let left = num_ack_pending;
  for (let at = from; (left > 0 || at <= ack_floor.stream_seq) && !signal.aborted;) {
    const message = await bus.direct.nextFromLeader(stream, subject, at);
    // Those that were purged meanwhile may still be counted.
    if (message === null || message.seq > delivered.stream_seq) return;
    at = message.seq + 1;
    if (message.seq > ack_floor.stream_seq) left--;
    yield message;
  }
}

const mend = (consumer: string): string => `run cortex projections rebuild ${consumer}`;
