import { Id } from '@cortex/contracts';
import { WORKSPACE_ROLES } from '@cortex/contracts/workspace';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { ALL, workspace } from '../workspace/workspace.decider.js';
import { WorkspaceArgument } from './in-workspace.js';

/**
 * Lets a person into a workspace, changes its role there, or (null) takes it out.
 * Events: WorkspaceMemberSet, WorkspaceMemberRemoved or none. Errors: not_found (workspace_id), failed_precondition for the only admin.
 */
export const setMember = defineCommand({
  name: 'set_member',
  input: z.object({
    workspace_id: WorkspaceArgument,
    principal_id: Id.describe('`per_` id of a person'),
    role: z.enum(WORKSPACE_ROLES).nullable(),
  }),
  async handle({ workspace_id, principal_id, role }, ctx) {
    await ctx.execute(workspace, ALL, { type: 'SetMember', principal_id, role }, { workspace: workspace_id });
    return { workspace_id, principal_id, role };
  },
});
