import { notFound } from '@cortex/contracts';
import { BILLING_MODES } from '@cortex/contracts/cost';
import { EXECUTION_KINDS } from '@cortex/contracts/execution';
import { firstChars } from '@cortex/contracts/text';
import { defineTool, limit, text } from '@cortex/service-kit';
import { readParts, visibleTo, type Part } from '@cortex/service-kit/ownership';
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { callsOf } from '../execution/calls-of.js';
import { executionCosts } from '../projections/execution-costs.projection.js';
import { executions } from '../projections/executions.projection.js';
import { EXECUTION_STATUSES, type AuditDb } from '../projections/tables.js';
import { ownership } from '../projections/ownership.js';

const DAY_MS = 86_400_000;
/** Executions that ended longer ago are found by their id alone. */
const LISTED_MS = 7 * DAY_MS;
const OUTPUT_CHARS = 500;

const Text = z.string();
const execution = {
  id: Text,
  status: z.enum(EXECUTION_STATUSES),
  kind: z.enum(EXECUTION_KINDS),
  project: Text,
  backend: Text.nullable(),
  billing_mode: z.enum(BILLING_MODES).nullable(),
  session_id: Text,
  owner_session_id: Text.nullable().describe('The session that started this one'),
  trigger: Text,
  label: Text,
  elapsed_ms: z.number().int().describe('Of a running one up to now'),
  cost_usd: z.number().nullable().describe('US dollars; null where it is not known'),
  num_turns: z.number().int().nullable(),
  schedule_task_id: Text.nullable(),
  error: Text.nullable(),
};
const Call = z.object({
  call_id: Text,
  tool: Text.nullable(),
  outcome: z.enum(['running', 'interrupted', 'succeeded', 'failed', 'denied', 'cancelled', 'timed_out']),
  at: Text,
  duration_ms: z.number().nullable(),
});

/**
 * Runs of agents, newest start first, or one of them with its output and calls; of those that the caller may see.
 * Errors: not_found (execution_id), unavailable (session).
 */
export const queryExecutions = defineTool({
  name: 'query_executions',
  title: 'List runs of agents',
  description:
    'Lists runs of agents by status and project, newest first, with cost and turns; or shows one with the beginning of what ' +
    'it put out last and its tool calls. Shows what you may see: for an agent its session, what that started, and its project; for a person own sessions ' +
    'and own workspaces. Runs that ended more than 7 days ago are found by execution_id only.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: 'cortex-ext',
  input: z.object({
    execution_id: text({ max: 64 }).optional().describe('Shows this one (exec_…); the other filters are then ignored'),
    status: z
      .enum([...EXECUTION_STATUSES, 'all'])
      .default('running')
      .describe('Only these; default running'),
    project: text({ max: 200 }).optional().describe('Only this project, exactly'),
    limit: limit(10, 100),
  }),
  output: z.object({
    executions: z.array(z.object(execution)).optional().describe('Newest start first'),
    total: z.number().int().optional().describe('How many fit'),
    truncated: z.boolean().optional().describe('More fit than are shown'),
    execution: z
      .object({
        ...execution,
        final_output: Text.nullable().describe(`Its first ${OUTPUT_CHARS} characters`),
        started_at: Text,
        ended_at: Text.nullable(),
        calls: z
          .object({
            total: z.number().int(),
            failed: z.number().int().describe('Failed, refused, timed out or cut off'),
            recent: z.array(Call).describe('The last 20, newest first'),
          })
          .describe('Tool calls of its session while it ran'),
      })
      .optional()
      .describe('With execution_id'),
  }),
  async handle(args, ctx) {
    await Promise.all([ctx.read(executions), ctx.read(executionCosts)]);
    const parts = await visibleTo(ctx, ownership);
    const now = Date.parse(ctx.now());
    if (args.execution_id !== undefined) {
      const rows = await readParts<AuditDb, Row[]>(ctx, parts, (db, part) =>
        select(db, part).where('id', '=', args.execution_id!).execute(),
      );
      const row = rows.flat()[0];
      if (row === undefined) {
        throw notFound('execution_id', 'names no execution', 'list them with status all');
      }
      return {
        execution: {
          ...shown(row, now),
          final_output: row.final_output === null ? null : firstChars(row.final_output, OUTPUT_CHARS),
          started_at: row.started_at.toISOString(),
          ended_at: row.ended_at?.toISOString() ?? null,
          calls: await callsOf(ctx, row),
        },
      };
    }
    const { status, project } = args;
    const found = await readParts<AuditDb, { rows: Row[]; total: number }>(ctx, parts, async (db, part) => {
      const fitting = select(db, part)
        .$if(status !== 'all', (query) => query.where('status', '=', status as Exclude<typeof status, 'all'>))
        .$if(project !== undefined, (query) => query.where('project', '=', project!))
        .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>=', new Date(now - LISTED_MS))]));
      const [rows, { total }] = await Promise.all([
        fitting.orderBy('started_at', 'desc').orderBy('id', 'desc').limit(args.limit).execute(),
        fitting
          .clearSelect()
          .select((eb) => eb.fn.countAll<string>().as('total'))
          .executeTakeFirstOrThrow(),
      ]);
      return { rows, total: Number(total) };
    });
    const total = found.reduce((sum, part) => sum + part.total, 0);
    const newest = found
      .flatMap(({ rows }) => rows)
      .toSorted(byStart)
      .slice(0, args.limit);
    return { executions: newest.map((row) => shown(row, now)), total, truncated: total > newest.length };
  },
});

const select = (db: Kysely<AuditDb>, part: Part) =>
  db
    .selectFrom('executions')
    .leftJoin('execution_costs', (join) =>
      join
        .onRef('execution_costs.execution_id', '=', 'executions.id')
        .onRef('execution_costs.workspace_id', '=', 'executions.workspace_id'),
    )
    .selectAll('executions')
    .select(['execution_costs.cost_usd', 'execution_costs.num_turns'])
    .where(part.shows);
type Row = Awaited<ReturnType<ReturnType<typeof select>['execute']>>[number];

const byStart = (a: Row, b: Row): number =>
  b.started_at.getTime() - a.started_at.getTime() || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

/** What billing counted comes before what the run said of itself. */
function shown(row: Row, now: number) {
  const { id, status, kind, project, backend, billing_mode, session_id, owner_session_id } = row;
  const { trigger, label, schedule_task_id, error, started_at, ended_at, duration_s } = row;
  const measured = duration_s !== null && duration_s > 0 ? duration_s * 1000 : null;
  const elapsed = measured ?? (ended_at?.getTime() ?? now) - started_at.getTime();
  return {
    id,
    status,
    kind,
    project,
    backend,
    billing_mode,
    session_id,
    owner_session_id,
    trigger,
    label,
    // The clocks of two hosts may differ by more than a run lasted.
    elapsed_ms: Math.max(0, Math.round(elapsed)),
    cost_usd: row.cost_usd === null ? row.reported_cost_usd : Number(row.cost_usd),
    num_turns: row.num_turns ?? row.reported_turns,
    schedule_task_id,
    error,
  };
}
