import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, EVENTS_STREAM } from '@cortex/contracts';
import { jetstreamManager } from '@nats-io/jetstream';
import { anchorMessages } from '../anchors.js';

/**
 * Takes anchors out that were signed while a backup was taken, behind the last of its call records: other records will get these numbers,
 * and would be called forged. Answers how many there were.
 */
export async function dropEarlyAnchors(bus: Bus): Promise<number> {
  const jsm = await jetstreamManager(bus.nc);
  const { state } = await jsm.streams.info(CALLS_STREAM);
  let dropped = 0;
  for await (const { seq, anchors } of anchorMessages(bus)) {
    if (!anchors.some((anchor) => anchor.seq > state.last_seq)) continue;
    await jsm.streams.deleteMessage(EVENTS_STREAM, seq, true);
    dropped++;
  }
  return dropped;
}
