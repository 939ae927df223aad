import type { BudgetEvent } from '@cortex/contracts/cost';
import { defineProjection } from '@cortex/eventstore';
import type { BillingDb } from './tables.js';

/** The budgets that were set; without a global one the default is in force. */
export const budgets = defineProjection<BudgetEvent, BillingDb>({
  name: 'budgets_v1',
  subject: 'cortex.evt.billing.*.budget.*',
  tables: ['budgets'],
  on: {
    BudgetSet: ({ data: { project, daily_usd, monthly_usd } }, tx) =>
      tx
        .insertInto('budgets')
        .values({ project: project ?? '', daily_usd, monthly_usd })
        .onConflict((oc) => oc.column('project').doUpdateSet({ daily_usd, monthly_usd }))
        .execute(),
    ProjectBudgetCleared: ({ data }, tx) => tx.deleteFrom('budgets').where('project', '=', data.project).execute(),
  },
});
