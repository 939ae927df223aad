import type { GuardRule } from '@cortex/contracts';
import { GuardRuleInput } from '@cortex/contracts/guard-rule';
import { invalidArgument } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { guardrules } from '../guardrules/guardrules.decider.js';
import { ALL } from '../workspace/workspace.decider.js';
import { assertWorkspace, WorkspaceArgument } from './in-workspace.js';

/**
 * Sets a rule of the guard rail, in place of the one with its id or as a new one; answers with the whole rule.
 * Events: GuardRuleSet, or none when it stands already. Errors: invalid_argument, not_found (workspace_id), resource_exhausted.
 */
export const setGuardRule = defineCommand({
  name: 'set_guard_rule',
  input: z.object({ workspace_id: WorkspaceArgument, rule: GuardRuleInput }),
  async handle({ workspace_id, rule: given }, ctx) {
    await assertWorkspace(ctx, workspace_id);
    const { id, scope_type, scope_id, ...fields } = given;
    if (scope_type !== 'workspace' && scope_id === undefined)
      throw invalidArgument('rule.scope_id', 'is missing', `name the ${scope_type}`);
    const rule = withoutUndefined<GuardRule>({
      id: id ?? ctx.newId('rule'),
      workspace_id,
      scope_type,
      scope_id: scope_id ?? workspace_id,
      ...fields,
      origin: 'manual',
      created_by: ctx.caller.id,
    });
    await ctx.execute(guardrules, ALL, { type: 'SetGuardRule', at: ctx.now(), rule }, { workspace: workspace_id });
    return { rule };
  },
});

/** As it comes back from the log, where what is undefined does not exist. */
const withoutUndefined = <T>(value: { [K in keyof T]: T[K] | undefined }): T => JSON.parse(JSON.stringify(value)) as T;
