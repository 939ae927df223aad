import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { limitsOf } from '../budget/budget-use.js';
import { budgets as view } from '../projections/budgets.projection.js';

/** The limits in force: `{daily_usd, monthly_usd, projects: {<id>: {daily_usd, monthly_usd}}}`, as `budget.json` writes them. */
export const budgets = defineQuery({
  name: 'budgets',
  input: z.object({}),
  async handle(_args, ctx) {
    const db = await ctx.read(view);
    const rows = await db.selectFrom('budgets').selectAll().where('project', '!=', '').orderBy('project').execute();
    const { global } = await limitsOf(db, null);
    return {
      daily_usd: global.daily_usd,
      monthly_usd: global.monthly_usd,
      projects: Object.fromEntries(
        rows.map(({ project, daily_usd, monthly_usd }) => [project, { daily_usd, monthly_usd }]),
      ),
    };
  },
});
