import { invalidArgument, NO_WORKSPACE } from '@cortex/contracts';
import { COST_SOURCES, type BillingMode } from '@cortex/contracts/cost';
import { tenantDb } from '@cortex/eventstore';
import { CONFIG, defineTool, HOST, result, text, type ServiceHost } from '@cortex/service-kit';
import { readParts, visibleTo } from '@cortex/service-kit/ownership';
import { sql } from 'kysely';
import { z } from 'zod';
import { exceededNotes, limitsOf } from '../budget/budget-use.js';
import { dayOf, monthOf, type Period } from '../calendar.js';
import type { Config } from '../config.js';
import { toUsd } from '../money.js';
import { costEntries } from '../projections/cost-entries.projection.js';
import type { BillingDb } from '../projections/tables.js';
import { ownership } from '../projections/ownership.js';

const Usd = z.number().describe('US dollars, at most six decimals');
const spent = {
  total: Usd,
  api: Usd.describe('Of it, billed by use'),
  plan: Usd.describe('Of it, covered by a plan'),
  budget: Usd.describe('The limit; it informs, nothing is stopped by it'),
  remaining: Usd.describe('Limit less total; negative when overspent'),
  percent: z.number().describe('Of the limit, one decimal'),
};
const TokenUse = z.object({ input: z.number().int(), output: z.number().int() });

/** Sums of one source and mode, as PostgreSQL gives them. */
interface Sums {
  source: string;
  mode: BillingMode;
  cost_today: string;
  cost_month: string;
  input_today: string;
  input_month: string;
  output_today: string;
  output_month: string;
  entries: string;
}

/**
 * Spending today and this month against the budgets, of the records that the caller may see.
 * Errors: invalid_argument (projectId), unavailable (session).
 */
export const costQuery = defineTool({
  name: 'cost_query',
  title: 'Show what was spent',
  description:
    'Shows spending today and this month in US dollars (calendar periods in the zone of the server), the budgets and what is left of ' +
    'them, the split between API and plan and by source, and token use. Counts what you may see: for an agent its session, what ' +
    'that started, and its project; for a person own sessions and own workspaces. Budgets inform, nothing is stopped by them.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  group: 'cortex-ext',
  input: z.object({
    projectId: text({ max: 200 })
      .optional()
      .describe('Only this project, with its own limits if it has them; default all'),
  }),
  output: z.object({
    scope: z.enum(['all', 'project']),
    project_id: z.string().nullable(),
    budget_scope: z.enum(['global', 'project']).describe('Whose limits are in force'),
    currency: z.literal('USD'),
    today: z.object({ date: z.string().describe('Such as 2026-03-01'), ...spent }),
    month: z.object({ month: z.string().describe('Such as 2026-03'), ...spent }),
    by_source: z
      .record(z.string(), z.object({ today: Usd, month: Usd }))
      .describe('estimate: derived from token counts; gateway: as the provider reported'),
    tokens: z.object({ today: TokenUse, month: TokenUse }),
    entry_count: z.number().int().describe('Records of the last 90 days'),
  }),
  async handle({ projectId }, ctx) {
    if (projectId?.trim() === '')
      throw invalidArgument('projectId', 'must not be empty', 'leave it out for all projects');
    const project = projectId ?? null;
    const { TZ } = ctx.get<Config>(CONFIG);
    const now = new Date(ctx.now());
    const [day, month] = [dayOf(now, TZ), monthOf(now, TZ)];
    await ctx.read(costEntries);
    const parts = await visibleTo(ctx, ownership);
    const rows = await readParts<BillingDb, Sums[]>(ctx, parts, async (db, part) => {
      const query = sql<Sums>`
        select source, mode, ${within('cost_micros', day)} as cost_today, ${within('cost_micros', month)} as cost_month,
               ${within('input_tokens', day)} as input_today, ${within('input_tokens', month)} as input_month,
               ${within('output_tokens', day)} as output_today, ${within('output_tokens', month)} as output_month,
               count(*) as entries
          from cost_entries
         where ${part.shows} and ${project === null ? sql`true` : sql`project = ${project}`}
         group by source, mode`;
      return (await query.execute(db)).rows;
    });
    const sums = rows.flat();
    const total = (field: keyof Sums, of: (row: Sums) => boolean = () => true): number =>
      sums.filter(of).reduce((sum, row) => sum + Number(row[field]), 0);
    const db = tenantDb<BillingDb>(ctx.get<ServiceHost>(HOST).pool, NO_WORKSPACE);
    const limits = await limitsOf(db, project);
    const { daily_usd, monthly_usd } = limits.project ?? limits.global;
    const against = (field: 'cost_today' | 'cost_month', limit: number) => {
      const micros = total(field);
      return {
        total: toUsd(micros),
        api: toUsd(total(field, ({ mode }) => mode === 'api')),
        plan: toUsd(total(field, ({ mode }) => mode === 'plan')),
        budget: limit,
        remaining: toUsd(limit * 1e6 - micros),
        percent: Math.round((toUsd(micros) / limit) * 1000) / 10,
      };
    };
    const sources = [...new Set([...COST_SOURCES, ...sums.map(({ source }) => source)])];
    const data = {
      scope: project === null ? ('all' as const) : ('project' as const),
      project_id: project,
      budget_scope: limits.project === null ? ('global' as const) : ('project' as const),
      currency: 'USD' as const,
      today: { date: day.starts, ...against('cost_today', daily_usd) },
      month: { month: month.starts, ...against('cost_month', monthly_usd) },
      by_source: Object.fromEntries(
        sources.map((source) => {
          const isIt = (row: Sums) => row.source === source;
          return [source, { today: toUsd(total('cost_today', isIt)), month: toUsd(total('cost_month', isIt)) }];
        }),
      ),
      tokens: {
        today: { input: total('input_today'), output: total('output_today') },
        month: { input: total('input_month'), output: total('output_month') },
      },
      entry_count: total('entries'),
    };
    const notes = await exceededNotes(db, project, [day, month], limits);
    return notes.length === 0 ? data : result(data, { meta: { 'cortex/budget_exceeded': notes } });
  },
});

/** The sum of a column over a period. */
const within = (column: string, { from, to }: Period) =>
  sql<string>`coalesce(sum(${sql.ref(column)}) filter (where timestamp >= ${from} and timestamp < ${to}), 0)`;
