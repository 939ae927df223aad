import { APPROVAL_MODES } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { guardrules } from '../guardrules/guardrules.decider.js';
import { ALL } from '../workspace/workspace.decider.js';
import { assertWorkspace, WorkspaceArgument } from './in-workspace.js';

/** Whether the tools that ask before they run do so in this workspace. Events: ApprovalModeSet or none. Errors: not_found (workspace_id). */
export const setApprovalMode = defineCommand({
  name: 'set_approval_mode',
  input: z.object({ workspace_id: WorkspaceArgument, mode: z.enum(APPROVAL_MODES) }),
  async handle({ workspace_id, mode }, ctx) {
    await assertWorkspace(ctx, workspace_id);
    await ctx.execute(guardrules, ALL, { type: 'SetApprovalMode', mode }, { workspace: workspace_id });
    return { workspace_id, mode };
  },
});
