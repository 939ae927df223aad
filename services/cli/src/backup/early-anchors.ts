import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, EVENTS_STREAM, subjects } from '@cortex/contracts';
import type { ChainEvent } from '@cortex/contracts/chain';
import { readEvents } from '@cortex/eventstore';
import { jetstreamManager } from '@nats-io/jetstream';

const ANCHORS = subjects.event('audit.chain', null, 'calls');

/**
 * Takes anchors out that were signed while a backup was taken, behind the last of its call records: other records will get these numbers,
 * and would be called forged. Answers how many there were.
 */
export async function dropEarlyAnchors(bus: Bus): Promise<number> {
  const jsm = await jetstreamManager(bus.nc);
  const { state } = await jsm.streams.info(CALLS_STREAM);
  let dropped = 0;
  for (let from = 1; ;) {
    const message = await bus.direct.nextFromLeader(EVENTS_STREAM, ANCHORS, from);
    if (message === null) return dropped;
    from = message.seq + 1;
    const read = readEvents(message);
    const events = 'garbage' in read ? [] : (read.events as unknown as ChainEvent[]);
    if (!events.some(({ type, data }) => type === 'CallsAnchored' && data.seq > state.last_seq)) continue;
    await jsm.streams.deleteMessage(EVENTS_STREAM, message.seq, true);
    dropped++;
  }
}
