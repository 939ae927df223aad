import { Id } from '@cortex/contracts';
import { defineTool, text } from '@cortex/service-kit';
import { z } from 'zod';
import { reserveKey } from '../keys/reserve-key.js';
import { known, ticket } from '../ticket/ticket.decider.js';
import { description, priority, title } from './fields.js';
import { assertAgent } from './find-agent.js';
import { priorityWord, quoted, TicketJson, ticketJson } from './ticket-json.js';

/**
 * Records new work. It launches nobody: an assignment writes the owner.
 * Events: TicketKeyReserved; TicketCreated, TicketAssigned when there is an assignee.
 * Errors: not_found and permission_denied wrong_workspace (assignee), conflict revision_conflict (key).
 */
export const createTicket = defineTool({
  name: 'create_ticket',
  title: 'Create a ticket',
  description:
    'Records work to be done as a ticket of the workspace, with status open. Look with list_tickets first whether it is ' +
    'there already. Assigning it starts no agent.',
  tier: 'write',
  actions: ['vendorSyncWrite'],
  workspace: 'required',
  input: z.object({
    title,
    description: description.optional(),
    priority: priority.default(0),
    assignee: Id.describe('Id of an agent of the workspace').optional(),
    team_id: text({ max: 200, blank: false }).describe("An outside tracker's team, if it needs one").optional(),
  }),
  output: TicketJson,
  async approval(args, ctx) {
    const { title, priority, assignee } = args;
    if (assignee !== undefined) await assertAgent(ctx, 'assignee', assignee);
    const detail = `Title: ${quoted(title)}\nPriority: ${priorityWord(priority)}\nAssignee: ${assignee ?? 'nobody'}`;
    return { title: 'Create ticket', detail };
  },
  async handle({ title, description = null, priority, assignee = null, team_id = null }, ctx) {
    if (assignee !== null) await assertAgent(ctx, 'assignee', assignee);
    const ticket_id = ctx.newId();
    const key = await reserveKey(ctx, ticket_id);
    const command = { ticket_id, key, title, description, priority, assignee, team_id };
    await ctx.execute(ticket, ticket_id, { type: 'CreateTicket', ...command });
    const { state } = await ctx.load(ticket, ticket_id);
    return ticketJson(known(state));
  },
});
