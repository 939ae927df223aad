import type { CostLogEvent } from '@cortex/contracts/cost';
import { defineDecider } from '@cortex/eventstore';

export type CostLogCommand = { type: 'PruneCostEntries'; before: string; count: number };

interface State {
  /** Rows before it are gone; '' while none are. */
  before: string;
}

/** Up to when the rows of cost records are gone. Two instances that prune at once record it once. */
export const costlog = defineDecider<CostLogCommand, CostLogEvent, State>({
  subject: 'billing.costlog',
  initial: { before: '' },
  decide(command, state) {
    switch (command.type) {
      case 'PruneCostEntries': {
        const { before, count } = command;
        return before > state.before ? [{ type: 'CostEntriesPruned', data: { before, count } }] : [];
      }
    }
  },
  evolve(_state, { type, data }) {
    switch (type) {
      case 'CostEntriesPruned':
        return { before: data.before };
    }
  },
});
