import { NO_WORKSPACE } from '@cortex/contracts';
import { tenantDb, waitFor } from '@cortex/eventstore';
import { CONFIG, HOST, type ServiceHost, type ToolContext } from '@cortex/service-kit';
import { sql, type Kysely } from 'kysely';
import { dayOf, monthOf, type Period } from '../calendar.js';
import type { Config } from '../config.js';
import { toUsd } from '../money.js';
import type { Overspend } from '../overspend/overspend.decider.js';
import type { BillingDb } from '../projections/tables.js';
import { costEntries } from '../projections/cost-entries.projection.js';
import { DEFAULT_BUDGET } from './budget.decider.js';

type Limits = { daily_usd: number; monthly_usd: number };

/** The limits that hold for all projects and, where a project has both of its own, for it. */
export async function limitsOf(
  db: Kysely<BillingDb>,
  project: string | null,
): Promise<{ global: Limits; project: Limits | null }> {
  const rows = await db
    .selectFrom('budgets')
    .selectAll()
    .where('project', 'in', ['', project ?? ''])
    .execute();
  const find = (name: string) => rows.find((row) => row.project === name);
  return { global: find('') ?? DEFAULT_BUDGET, project: project === null ? null : (find(project) ?? null) };
}

/** What all callers together spent in the period, US dollars; of one project, or of all. */
async function spentIn(db: Kysely<BillingDb>, { from, to }: Period, project: string | null): Promise<number> {
  const { micros } = await db
    .selectFrom('spending')
    .select(sql<string>`coalesce(sum(cost_micros), 0)`.as('micros'))
    .where('quarter', '>=', from)
    .where('quarter', '<', to)
    .$if(project !== null, (query) => query.where('project', '=', project!))
    .executeTakeFirstOrThrow();
  return toUsd(micros);
}

/** Use of every budget that spending of a project counts for, on the day and in the month of `at`. */
export async function budgetUse(
  db: Kysely<BillingDb>,
  project: string,
  periods: { day: Period | null; month: Period | null },
): Promise<Overspend[]> {
  const limits = await limitsOf(db, project);
  const scopes = [
    { scope: 'global' as const, project: null, limits: limits.global },
    ...(limits.project ? [{ scope: 'project' as const, project, limits: limits.project }] : []),
  ];
  const uses = scopes.flatMap(({ scope, project: name, limits: { daily_usd, monthly_usd } }) =>
    [
      { period: 'day' as const, of: periods.day, limit_usd: daily_usd },
      { period: 'month' as const, of: periods.month, limit_usd: monthly_usd },
    ].map(async ({ period, of, limit_usd }): Promise<Overspend | null> => {
      if (of === null) return null;
      const spent_usd = await spentIn(db, of, name);
      return { scope, project: name, period, starts: of.starts, limit_usd, spent_usd };
    }),
  );
  return (await Promise.all(uses)).filter((use) => use !== null);
}

const noteOf = (use: Pick<Overspend, 'project' | 'period' | 'limit_usd'>): string =>
  `${nameOf(use)} (${use.limit_usd} USD) is exceeded`;

export const nameOf = ({ project, period }: Pick<Overspend, 'project' | 'period'>): string =>
  `the ${period === 'day' ? 'daily' : 'monthly'} budget of ${project === null ? 'all projects' : `project ${project}`}`;

/** Who reported spending is not to wait for a view that is behind. */
const NOTES_WAIT_MS = 250;

/**
 * A sentence for each budget of the project that is used up now, with the record at `seq` if the view has it soon. The
 * amount spent is not in it: it may be others'.
 */
export async function budgetNotes(ctx: ToolContext, project: string, seq: number): Promise<string[]> {
  const { bus, pool, projections: runner } = ctx.get<ServiceHost>(HOST);
  const wait = { bus, pool, runner, projection: costEntries, seq, ms: NOTES_WAIT_MS, signal: ctx.signal };
  await waitFor(wait).catch(() => undefined);
  const { TZ } = ctx.get<Config>(CONFIG);
  const now = new Date(ctx.now());
  const db = tenantDb<BillingDb>(pool, NO_WORKSPACE);
  const uses = await budgetUse(db, project, { day: dayOf(now, TZ), month: monthOf(now, TZ) });
  return uses.filter(({ spent_usd, limit_usd }) => spent_usd > limit_usd).map(noteOf);
}

/**
 * A sentence for each budget that was exceeded in these periods: the global one, and that of the project. What was exceeded
 * and has been raised or taken away since is none.
 */
export async function exceededNotes(
  db: Kysely<BillingDb>,
  project: string | null,
  periods: readonly Period[],
  limits: { global: Limits; project: Limits | null },
): Promise<string[]> {
  const limitOf = ({ project: name, period }: { project: string; period: 'day' | 'month' }): number | undefined =>
    (name === '' ? limits.global : limits.project)?.[period === 'day' ? 'daily_usd' : 'monthly_usd'];
  const rows = await db
    .selectFrom('overspends')
    .selectAll()
    .where('project', 'in', ['', project ?? ''])
    .where(
      'starts',
      'in',
      periods.map(({ starts }) => starts),
    )
    .orderBy('project')
    .orderBy('period')
    .execute();
  return rows.flatMap((row) => {
    const limit_usd = limitOf(row);
    if (limit_usd === undefined || row.limit_usd < limit_usd) return [];
    return [noteOf({ project: row.project || null, period: row.period, limit_usd })];
  });
}
