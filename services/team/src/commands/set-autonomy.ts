import { Id } from '@cortex/contracts';
import { AutonomyLevel } from '@cortex/contracts/guard-rule';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { guardrules } from '../guardrules/guardrules.decider.js';
import { ALL } from '../workspace/workspace.decider.js';
import { assertWorkspace, WorkspaceArgument } from './in-workspace.js';

/** The dial of an agent, everywhere in the workspace or in one space. Events: AutonomySet or none. Errors: not_found (workspace_id). */
export const setAutonomy = defineCommand({
  name: 'set_autonomy',
  input: z.object({
    workspace_id: WorkspaceArgument,
    agent_id: Id,
    space_id: Id.nullable().default(null).describe('Null: in every space that has no dial of its own'),
    level: AutonomyLevel,
  }),
  async handle({ workspace_id, agent_id, space_id, level }, ctx) {
    await assertWorkspace(ctx, workspace_id);
    const command = { type: 'SetAutonomy' as const, agent_id, space_id, level };
    await ctx.execute(guardrules, ALL, command, { workspace: workspace_id });
    return { workspace_id, agent_id, space_id, level };
  },
});
