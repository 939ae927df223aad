import { Id } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';

/** Arguments that find the caller's conversation where its token does not name one. */
export const injected = {
  agent_id: Id.optional().describe('Id of the agent whose conversation this is; filled in for agents'),
  space_id: Id.optional().describe('Id of the space of the conversation; filled in for agents'),
};

/** The arguments by which the mode of a conversation is looked up. */
export const whereabouts = (args: { agent_id?: string; space_id?: string }, ctx: ToolContext) => ({
  ...(ctx.workspace !== null && { workspace_id: ctx.workspace }),
  ...(args.agent_id !== undefined && { agent_id: args.agent_id }),
  ...(args.space_id !== undefined && { space_id: args.space_id }),
});
