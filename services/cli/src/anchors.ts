import type { Bus } from '@cortex/bus';
import { EVENTS_STREAM, subjects } from '@cortex/contracts';
import type { Anchor, ChainEvent } from '@cortex/contracts/chain';
import { readEvents } from '@cortex/eventstore';

const SUBJECT = subjects.event('audit.chain', null, 'calls');

/** A message of the log with the anchors of call records that it holds; none where it is no commit. */
export interface AnchorMessage {
  /** In the log, not in the records. */
  seq: number;
  anchors: Anchor[];
}

/** All of them from the oldest on. */
export async function* anchorMessages(bus: Bus): AsyncGenerator<AnchorMessage> {
  for (let from = 1; ;) {
    const message = await bus.direct.nextFromLeader(EVENTS_STREAM, SUBJECT, from);
    if (message === null) return;
    from = message.seq + 1;
    const read = readEvents(message);
    const events = 'garbage' in read ? [] : (read.events as unknown as ChainEvent[]);
    yield {
      seq: message.seq,
      anchors: events.flatMap((event) => (event.type === 'CallsAnchored' ? [event.data] : [])),
    };
  }
}
