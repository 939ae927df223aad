import type { CostEvent } from '@cortex/contracts/cost';
import { defineProjection } from '@cortex/eventstore';
import { sql } from 'kysely';
import type { AuditDb } from './tables.js';

/** Per execution: what its records of spending add up to. A record is in the log once. */
export const executionCosts = defineProjection<CostEvent, AuditDb>({
  name: 'execution_costs_v1',
  subject: 'cortex.evt.billing.*.cost.*',
  tables: ['execution_costs'],
  on: {
    CostRecorded: ({ workspace, data: { execution_id, cost_usd, num_turns } }, tx) =>
      execution_id === null
        ? undefined
        : sql`
            insert into execution_costs (workspace_id, execution_id, cost_usd, num_turns)
            values (${workspace}, ${execution_id}, ${cost_usd}::float8::numeric, ${num_turns})
            on conflict (workspace_id, execution_id) do update set
              cost_usd = coalesce(execution_costs.cost_usd + excluded.cost_usd, execution_costs.cost_usd, excluded.cost_usd),
              num_turns = coalesce(execution_costs.num_turns + excluded.num_turns, execution_costs.num_turns, excluded.num_turns)
          `.execute(tx),
  },
});
