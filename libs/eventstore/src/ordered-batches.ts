import type { Bus, Log } from '@cortex/bus';
import { BATCH, ACK_WAIT_MS } from './provision-bus.js';
import { consumerState, hasLost, Pull, PullLost, ViewLost, type Delivered } from './pull.js';

const CHECK_MS = 250;
const IDLE_MS = 30_000;

export interface OrderedOptions {
  bus: Bus;
  stream: string;
  consumer: string;
  /** The checkpoint: what is not above it needs no waiting for. */
  applied: number;
  /** What was acknowledged and is above the checkpoint is read again from the stream, every message of it, instead of ending in `ViewLost`. */
  reread?: boolean;
  signal: AbortSignal;
  log: Log;
}

/**
 * The messages of a durable consumer in the order of the stream, in batches, each of which was dealt with when the next
 * is asked for. A checkpoint that skips what is not above it loses a message that comes late, so nothing may come late:
 *
 * - what somebody else was given and did not acknowledge is waited for (it comes again after the ack wait), held
 *   together with what came meanwhile, and given out sorted;
 * - every delivery is counted by the server; a gap means that there is such a message again, and ends the iteration.
 *
 * Ends with `PullLost`, with `ViewLost` before the first batch, or when the signal aborts.
 */
export async function* orderedBatches(options: OrderedOptions): AsyncGenerator<Delivered[], void, undefined> {
  const { bus, stream, consumer, applied, signal, log } = options;
  const pull = new Pull({ bus, stream, consumer, batch: BATCH });
  let inHand: Delivered[] = [];
  try {
    const begin = await consumerState(bus, stream, consumer);
    if (await hasLost(bus, stream, applied, begin)) {
      if (options.reread) yield* again(options, begin.ack_floor.stream_seq);
      // To go on would leave a hole that nobody sees.
      else
        throw new ViewLost(
          `lacks what was in it up to ${begin.ack_floor.stream_seq}; run cortex projections rebuild ${consumer}`,
        );
    }
    let expected = begin.delivered.consumer_seq + 1;
    const count = (messages: readonly Delivered[]): void => {
      for (const { deliverySeq } of messages) {
        if (deliverySeq !== expected) throw new PullLost(`delivery ${deliverySeq} came instead of ${expected}`);
        expected++;
      }
    };
    if (begin.num_ack_pending > 0 && begin.delivered.stream_seq > applied) {
      const held = new Map<number, Delivered>();
      const patience = performance.now() + 2 * ACK_WAIT_MS;
      for (let complete = false; !complete;) {
        const messages = await pull.next(CHECK_MS, signal);
        if (signal.aborted) return;
        count(messages);
        for (const message of messages) held.set(message.seq, message);
        inHand = [...held.values()];
        const { num_ack_pending } = await consumerState(bus, stream, consumer);
        complete = num_ack_pending <= held.size + pull.buffered && pull.buffered === 0;
        if (!complete && performance.now() > patience) {
          // Messages that were purged meanwhile stay counted; everything that still exists has come again by now.
          log('warn', 'messages given out before did not come again', { consumer, num_ack_pending, held: held.size });
          complete = true;
        }
      }
      inHand.sort((a, b) => a.seq - b.seq);
      while (inHand.length > 0) {
        yield inHand.slice(0, BATCH);
        inHand = inHand.slice(BATCH);
      }
    }
    while (!signal.aborted) {
      const messages = await pull.next(IDLE_MS, signal);
      count(messages);
      inHand = messages;
      if (messages.length > 0) yield messages;
      inHand = [];
    }
  } finally {
    pull.close(inHand);
  }
}

/** Every message above the checkpoint that the stream still has, up to what the consumer was done with. */
async function* again({ bus, stream, consumer, applied, log, signal }: OrderedOptions, upTo: number) {
  log('warn', 'reads again what its database has lost', { consumer, from: applied + 1, to: upTo });
  for (let from = applied + 1; from <= upTo && !signal.aborted;) {
    const batch: Delivered[] = [];
    while (batch.length < BATCH && from <= upTo) {
      const message = await bus.direct.next(stream, '>', from);
      from = message === null ? upTo + 1 : message.seq + 1;
      if (message !== null && message.seq <= upTo)
        batch.push({ ...message, deliverySeq: 0, delivery: 1, pending: 0, ack: '' });
    }
    if (batch.length > 0) yield batch;
  }
}
