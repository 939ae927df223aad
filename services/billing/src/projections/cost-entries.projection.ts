import type { CostEvent, CostLogEvent } from '@cortex/contracts/cost';
import { defineProjection } from '@cortex/eventstore';
import { sql } from 'kysely';
import { toMicros } from '../money.js';
import type { BillingDb } from './tables.js';

const QUARTER_MS = 15 * 60_000;
const quarterOf = (timestamp: string): string =>
  new Date(Math.floor(Date.parse(timestamp) / QUARTER_MS) * QUARTER_MS).toISOString();

/** Every record of spending of the last 90 days, and what each project spent per quarter of an hour. */
export const costEntries = defineProjection<CostEvent | CostLogEvent, BillingDb>({
  name: 'cost_entries_v1',
  // Records and their end are of two aggregates.
  subject: 'cortex.evt.billing.*.*.*',
  tables: ['cost_entries', 'spending'],
  on: {
    CostRecorded: ({ id, workspace, data }, tx) => {
      const { entry_id: _entry, cost_usd, ...record } = data;
      const cost_micros = cost_usd === null ? null : toMicros(cost_usd);
      const added = tx
        .insertInto('cost_entries')
        .values({ workspace_id: workspace, id, cost_micros, ...record })
        .onConflict((oc) => oc.columns(['workspace_id', 'id']).doNothing());
      if (cost_micros === null) return added.execute();
      // One statement, so that only a row that is new adds to the sum.
      return sql`
        with added as (${added.returning('id')})
        insert into spending (project, quarter, cost_micros)
        select ${data.project}::text, ${quarterOf(data.timestamp)}::timestamptz, ${cost_micros}::bigint from added
        on conflict (project, quarter) do update set cost_micros = spending.cost_micros + excluded.cost_micros`.execute(
        tx,
      );
    },
    CostEntriesPruned: ({ data }, tx) =>
      Promise.all([
        tx
          .deleteFrom('cost_entries')
          .where(sql`timestamp`, '<', data.before)
          .execute(),
        tx
          .deleteFrom('spending')
          .where(sql`quarter`, '<', data.before)
          .execute(),
      ]),
  },
});
