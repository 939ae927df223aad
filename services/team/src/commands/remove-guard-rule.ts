import { Id } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { guardrules } from '../guardrules/guardrules.decider.js';
import { ALL } from '../workspace/workspace.decider.js';
import { assertWorkspace, WorkspaceArgument } from './in-workspace.js';

/** Takes a rule away; one that is not there may be removed again. Events: GuardRuleRemoved or none. Errors: not_found (workspace_id). */
export const removeGuardRule = defineCommand({
  name: 'remove_guard_rule',
  input: z.object({ workspace_id: WorkspaceArgument, rule_id: Id }),
  async handle({ workspace_id, rule_id }, ctx) {
    await assertWorkspace(ctx, workspace_id);
    await ctx.execute(guardrules, ALL, { type: 'RemoveGuardRule', rule_id }, { workspace: workspace_id });
    return { workspace_id, rule_id };
  },
});
