import type { CostLogEvent } from '@cortex/contracts/cost';
import { defineDecider } from '@cortex/eventstore';

export type CostLogCommand =
  { type: 'PruneCostEntries'; before: string; count: number } | { type: 'NoteImport'; count: number; skipped: number };

interface State {
  /** Rows before it are gone; '' while none are. */
  before: string;
  imported: boolean;
}

/** Up to when the rows of cost records are gone, and that older records were taken over. Two instances at once record it once. */
export const costlog = defineDecider<CostLogCommand, CostLogEvent, State>({
  subject: 'billing.costlog',
  initial: { before: '', imported: false },
  decide(command, state) {
    switch (command.type) {
      case 'PruneCostEntries': {
        const { before, count } = command;
        return before > state.before ? [{ type: 'CostEntriesPruned', data: { before, count } }] : [];
      }
      case 'NoteImport': {
        const { count, skipped } = command;
        return state.imported ? [] : [{ type: 'CostsImported', data: { count, skipped } }];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'CostEntriesPruned':
        return { ...state, before: data.before };
      case 'CostsImported':
        return { ...state, imported: true };
    }
  },
});
