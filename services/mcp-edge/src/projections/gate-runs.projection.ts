import type { RunEvent } from '@cortex/contracts/run';
import { defineProjection, type Of } from '@cortex/eventstore';
import type { Transaction } from 'kysely';
import type { EdgeDb } from './tables.js';

/** What an agent is at work on now: its newest run that has not ended. */
export const gateRuns = defineProjection<RunEvent, EdgeDb>({
  name: 'gate_runs_v1',
  subject: 'cortex.evt.session.*.run.*',
  tables: ['active_runs'],
  on: {
    RunStarted: ({ workspace, seq, data: { run_id, agent_id, space_id, ticket_id } }, tx) => {
      const run = { run_id, space_id, ticket_id, active: true, seq };
      return tx
        .insertInto('active_runs')
        .values({ workspace, agent_id, ...run })
        .onConflict((oc) => oc.columns(['workspace', 'agent_id']).doUpdateSet(run))
        .execute();
    },
    RunFinished: ended,
    RunFailed: ended,
  },
});

function ended({ workspace, seq, data }: Of<RunEvent, 'RunFinished' | 'RunFailed'>, tx: Transaction<EdgeDb>) {
  return tx
    .updateTable('active_runs')
    .where('workspace', '=', workspace)
    .where('run_id', '=', data.run_id)
    .set({ active: false, seq })
    .execute();
}
