import { NO_WORKSPACE } from '@cortex/contracts';
import type { CostEvent } from '@cortex/contracts/cost';
import { tenantDb, waitFor } from '@cortex/eventstore';
import { CONFIG, defineReactor, HOST, type ServiceHost } from '@cortex/service-kit';
import { budgetUse } from '../budget/budget-use.js';
import { dayOf, monthOf, type Period } from '../calendar.js';
import type { Config } from '../config.js';
import { overspend, overspendId } from '../overspend/overspend.decider.js';
import { costEntries } from '../projections/cost-entries.projection.js';
import type { BillingDb } from '../projections/tables.js';

/**
 * After each record: do the budgets still hold? The sums hold at least this record when they are read, so of several that
 * cross a limit together the last one sees it, and the aggregate of the period lets only one of them say so. Spending that
 * is told of after its day or month warns of nothing.
 */
export const budgetWatch = defineReactor<CostEvent>({
  name: 'budget_watch_v1',
  subject: 'cortex.evt.billing.*.cost.*',
  on: {
    async CostRecorded({ data, at, seq }, ctx) {
      if (data.cost_usd === null || data.cost_usd === 0) return;
      const { bus, pool, projections: runner } = ctx.get<ServiceHost>(HOST);
      const { TZ } = ctx.get<Config>(CONFIG);
      // A view that is further behind fails the reaction, which is then tried again: better late than missed.
      await waitFor({ bus, pool, runner, projection: costEntries, seq, signal: ctx.signal });
      const current = (periodOf: (time: Date, zone: string) => Period): Period | null => {
        const period = periodOf(new Date(data.timestamp), TZ);
        return period.starts === periodOf(new Date(at), TZ).starts ? period : null;
      };
      const periods = { day: current(dayOf), month: current(monthOf) };
      const uses = await budgetUse(tenantDb<BillingDb>(pool, NO_WORKSPACE), data.project, periods);
      if (!uses.some(({ spent_usd, limit_usd }) => spent_usd > limit_usd)) return;
      // All of them, in one order: the ids of the commits count them, and a second delivery may find more crossed.
      for (const use of uses) {
        await ctx.execute(overspend, overspendId(use), { type: 'NoteUse', use }, { workspace: null });
      }
    },
  },
});
