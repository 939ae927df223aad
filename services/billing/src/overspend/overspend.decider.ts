import { hashedToken } from '@cortex/contracts';
import type { OverspendEvent } from '@cortex/contracts/cost';
import { defineDecider } from '@cortex/eventstore';

export type Overspend = OverspendEvent['data'];
export type OverspendCommand = { type: 'NoteUse'; use: Overspend };

interface State {
  /** The limit that was last told to be crossed; 0 while none was. */
  limit_usd: number;
}

/** One aggregate per budget and period, so its state never grows. */
export const overspendId = ({ project, period, starts }: Pick<Overspend, 'project' | 'period' | 'starts'>): string =>
  hashedToken(JSON.stringify([project, period, starts]));

/**
 * That a budget's use crossed its limit is said once per period, however many calls cross it at once; again only when the
 * limit was raised and is crossed too.
 */
export const overspend = defineDecider<OverspendCommand, OverspendEvent, State>({
  subject: 'billing.overspend',
  initial: { limit_usd: 0 },
  decide(command, state) {
    switch (command.type) {
      case 'NoteUse': {
        const { use } = command;
        const crossed = use.spent_usd > use.limit_usd && use.limit_usd > state.limit_usd;
        return crossed ? [{ type: 'BudgetExceeded', data: use }] : [];
      }
    }
  },
  evolve(_state, { type, data }) {
    switch (type) {
      case 'BudgetExceeded':
        return { limit_usd: data.limit_usd };
    }
  },
});
