import { Id } from '@cortex/contracts';
import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { guardrules } from '../guardrules/guardrules.decider.js';
import { ALL, workspace as workspaceDecider, workspaceNotFound } from '../workspace/workspace.decider.js';

/**
 * One workspace as the log has it now: `{id, name, members: [{principal_id, role}], approval_mode, rules, dials}`; `approval_mode` is null
 * until one is set. Errors: not_found (workspace_id).
 */
export const workspace = defineQuery({
  name: 'workspace',
  input: z.object({ workspace_id: Id }),
  async handle({ workspace_id }, ctx) {
    const where = { workspace: workspace_id };
    const [{ state }, policy] = await Promise.all([
      ctx.load(workspaceDecider, ALL, where),
      ctx.load(guardrules, ALL, where),
    ]);
    if (state.status === 'none') throw workspaceNotFound();
    const { approval_mode, rules, dials } = policy.state;
    return {
      id: workspace_id,
      name: state.name,
      members: Object.entries(state.members).map(([principal_id, role]) => ({ principal_id, role })),
      approval_mode,
      rules: Object.values(rules),
      dials: Object.values(dials),
    };
  },
});
