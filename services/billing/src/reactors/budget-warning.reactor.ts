import type { OverspendEvent } from '@cortex/contracts/cost';
import { defineReactor } from '@cortex/service-kit';
import { nameOf } from '../budget/budget-use.js';

/** Tells the operator, in the log, that a budget is used up. Budgets inform; nothing is stopped by them. */
export const budgetWarning = defineReactor<OverspendEvent>({
  name: 'budget_warning_v1',
  subject: 'cortex.evt.billing.*.overspend.*',
  on: {
    async BudgetExceeded({ data }, ctx) {
      ctx.log.warn(data, `${nameOf(data)} is exceeded: ${data.spent_usd} of ${data.limit_usd} USD`);
    },
  },
});
