import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { budget } from '../budget/budget.decider.js';
import { Name } from './fields.js';

/** The project goes by the limits of the installation again. Events: ProjectBudgetCleared, or none. */
export const clearProjectBudget = defineCommand({
  name: 'clear_project_budget',
  input: z.object({ project: Name }),
  async handle({ project }, ctx) {
    const command = { type: 'ClearProjectBudget' as const, project, by: ctx.caller.id };
    await ctx.execute(budget, 'all', command, { workspace: null });
    return { project };
  },
});
