import type { OverspendEvent } from '@cortex/contracts/cost';
import { defineProjection } from '@cortex/eventstore';
import type { BillingDb } from './tables.js';

/** Which budgets were exceeded, per day and month. */
export const overspends = defineProjection<OverspendEvent, BillingDb>({
  name: 'overspends_v1',
  subject: 'cortex.evt.billing.*.overspend.*',
  tables: ['overspends'],
  on: {
    BudgetExceeded: ({ at, data: { project, period, starts, limit_usd } }, tx) =>
      tx
        .insertInto('overspends')
        .values({ project: project ?? '', period, starts, limit_usd, exceeded_at: at })
        .onConflict((oc) => oc.columns(['project', 'period', 'starts']).doUpdateSet({ limit_usd, exceeded_at: at }))
        .execute(),
  },
});
