import type { RecallEvent } from '@cortex/contracts/memory';
import { defineDecider } from '@cortex/eventstore';

export type RecallCommand = { type: 'RecallFacts'; fact_ids: string[]; mode: string };

/**
 * One search that showed facts. An aggregate of its own for each, and not of the facts that it showed: searches are many, and
 * none is to wait for another or for a proposal.
 */
export const recall = defineDecider<RecallCommand, RecallEvent, { recorded: boolean }>({
  subject: 'memory.recall',
  initial: { recorded: false },
  decide({ fact_ids, mode }, { recorded }) {
    return recorded ? [] : [{ type: 'MemoryFactsRecalled', data: { fact_ids, mode } }];
  },
  evolve(_state, { type }) {
    switch (type) {
      case 'MemoryFactsRecalled':
        return { recorded: true };
    }
  },
});
