import { notFound } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { agents } from '../projections/agents.projection.js';
import { wrongWorkspace } from './find-ticket.js';

/** Refuses an agent that the workspace does not have. Errors: `not_found`, `permission_denied` wrong_workspace. */
export async function assertAgent(ctx: ToolContext, field: string, agent_id: string): Promise<void> {
  const db = await ctx.read(agents);
  const rows = await db.selectFrom('agent_ids').select('workspace').where('agent_id', '=', agent_id).execute();
  if (rows.some(({ workspace }) => workspace === ctx.workspace)) return;
  if (rows.length > 0) throw wrongWorkspace(field);
  throw notFound(field, 'names no agent of this workspace', 'leave it out, or name one that was registered');
}
