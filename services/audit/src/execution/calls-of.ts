import { NO_WORKSPACE } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { readParts } from '@cortex/service-kit/ownership';
import { sql } from 'kysely';
import { callStatus } from '../projections/call-status.js';
import type { AuditDb } from '../projections/tables.js';
import { toolCalls } from '../projections/tool-calls.projection.js';

const RECENT = 20;

/** The session's tool calls while it ran; those that name no workspace are recorded in none. */
export async function callsOf(
  ctx: ToolContext,
  run: { workspace_id: string; session_id: string; started_at: Date; ended_at: Date | null },
) {
  await ctx.read(toolCalls);
  const parts = [...new Set([run.workspace_id, NO_WORKSPACE])].map((workspace) => ({
    workspace,
    shows: sql<boolean>`true`,
  }));
  const found = await readParts<AuditDb, { recent: CallRow[]; total: number; failed: number }>(
    ctx,
    parts,
    async (db) => {
      const calls = db
        .selectFrom('tool_calls')
        .where('session_id', '=', run.session_id)
        .where('created_at', '>=', run.started_at)
        .$if(run.ended_at !== null, (query) => query.where('created_at', '<=', run.ended_at!));
      const [recent, counts] = await Promise.all([
        calls
          .select(['id', 'tool', 'created_at', 'duration_ms', callStatus.as('outcome')])
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(RECENT)
          .execute(),
        calls
          .select((eb) => [
            eb.fn.countAll<string>().as('total'),
            sql<string>`count(*) filter (where ${callStatus} in ('failed', 'denied', 'timed_out', 'interrupted'))`.as(
              'failed',
            ),
          ])
          .executeTakeFirstOrThrow(),
      ]);
      return { recent: recent as CallRow[], total: Number(counts.total), failed: Number(counts.failed) };
    },
  );
  const sum = (field: 'total' | 'failed') => found.reduce((all, part) => all + part[field], 0);
  const recent = found
    .flatMap((part) => part.recent)
    .toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime())
    .slice(0, RECENT);
  return {
    total: sum('total'),
    failed: sum('failed'),
    recent: recent.map(({ id, tool, outcome, created_at, duration_ms }) => ({
      call_id: id,
      tool,
      outcome,
      at: created_at.toISOString(),
      duration_ms,
    })),
  };
}

interface CallRow {
  id: string;
  tool: string | null;
  outcome: 'running' | 'interrupted' | 'succeeded' | 'failed' | 'denied' | 'cancelled' | 'timed_out';
  created_at: Date;
  duration_ms: number | null;
}
