import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { budget } from '../budget/budget.decider.js';
import { LimitUsd, Name } from './fields.js';

/** Sets both limits of a project, or without one those of the whole installation. Events: BudgetSet, or none. */
export const setBudget = defineCommand({
  name: 'set_budget',
  input: z.object({ project: Name.optional(), daily_usd: LimitUsd, monthly_usd: LimitUsd }),
  async handle({ project = null, daily_usd, monthly_usd }, ctx) {
    const limits = { daily_usd, monthly_usd };
    const command = { type: 'SetBudget' as const, project, limits, by: ctx.caller.id };
    await ctx.execute(budget, 'all', command, { workspace: null });
    return { project, ...limits };
  },
});
