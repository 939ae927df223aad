import type { ExecutionEvent } from '@cortex/contracts/execution';
import { defineProjection, type Of } from '@cortex/eventstore';
import type { Transaction } from 'kysely';
import type { AuditDb, ExecutionStatus } from './tables.js';

type End = Exclude<ExecutionEvent['type'], 'ExecutionStarted'>;

const STATUS: Record<End, ExecutionStatus> = {
  ExecutionCompleted: 'completed',
  ExecutionFailed: 'failed',
  ExecutionCancelled: 'cancelled',
  ExecutionMarkedStale: 'stale',
};

/** The first end stands, as in the log. */
const end = (event: Of<ExecutionEvent, End>, tx: Transaction<AuditDb>) => {
  const figures = event.type === 'ExecutionCompleted' || event.type === 'ExecutionFailed' ? event.data : undefined;
  return tx
    .updateTable('executions')
    .where('workspace_id', '=', event.workspace)
    .where('id', '=', event.id)
    .where('ended_at', 'is', null)
    .set({
      status: STATUS[event.type],
      ended_at: event.at,
      reported_cost_usd: figures?.cost_usd ?? null,
      reported_turns: figures?.num_turns ?? null,
      duration_s: figures?.duration_s ?? null,
      final_output: figures?.final_output ?? null,
      error: event.type === 'ExecutionFailed' ? event.data.error : null,
    })
    .execute();
};

/** Every run of an agent. */
export const executions = defineProjection<ExecutionEvent, AuditDb>({
  name: 'executions_v1',
  subject: 'cortex.evt.audit.*.execution.*',
  tables: ['executions'],
  on: {
    ExecutionStarted: ({ id, workspace, at, data }, tx) => {
      const { execution_id: _id, ...started } = data;
      return tx
        .insertInto('executions')
        .values({ ...started, workspace_id: workspace, id, status: 'running', told_at: at })
        .onConflict((oc) => oc.columns(['workspace_id', 'id']).doNothing())
        .execute();
    },
    ExecutionCompleted: end,
    ExecutionFailed: end,
    ExecutionCancelled: end,
    ExecutionMarkedStale: end,
  },
});
