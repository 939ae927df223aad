import type { Anchor, ChainEvent } from '@cortex/contracts/chain';
import { defineDecider } from '@cortex/eventstore';

/** Puts down a point that was signed. */
export interface ChainCommand {
  type: 'AnchorCalls';
  anchor: Anchor;
}

interface State {
  /** Of the last anchor; 0 before the first. */
  seq: number;
  /** ISO 8601; empty before the first. */
  at: string;
}

/** The anchors of the call records. Each covers more than the one before, whichever instance makes it. */
export const chain = defineDecider<ChainCommand, ChainEvent, State>({
  subject: 'audit.chain',
  initial: { seq: 0, at: '' },
  decide({ anchor }, { seq }) {
    return anchor.seq > seq ? [{ type: 'CallsAnchored', data: anchor }] : [];
  },
  evolve(_state, { type, data }) {
    switch (type) {
      case 'CallsAnchored':
        return { seq: data.seq, at: data.at };
    }
  },
});
