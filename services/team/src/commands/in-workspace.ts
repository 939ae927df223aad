import { Id, NO_WORKSPACE } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { ALL, workspace, workspaceNotFound } from '../workspace/workspace.decider.js';

/** An id that may be a workspace's: `_` stands in subjects for what belongs to none. */
export const WorkspaceArgument = Id.refine(
  (id) => id !== NO_WORKSPACE,
  'is kept for what belongs to no workspace; use another id',
);

/** Rules are an aggregate of their own, and a workspace never goes, so asking before deciding leaves no gap. */
export async function assertWorkspace(ctx: ToolContext, workspace_id: string): Promise<void> {
  const { state } = await ctx.load(workspace, ALL, { workspace: workspace_id });
  if (state.status === 'none') throw workspaceNotFound();
}
