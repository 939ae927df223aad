import { Id } from '@cortex/contracts';
import { cursor, defineTool, limit, nextCursor, page } from '@cortex/service-kit';
import { z } from 'zod';
import { tickets } from '../projections/tickets.projection.js';
import { status } from './fields.js';
import { ticketColumns, TicketJson, ticketJson } from './ticket-json.js';

/** Lists the tickets of a workspace, the one that changed last first. */
export const listTickets = defineTool({
  name: 'list_tickets',
  title: 'List tickets',
  description: 'The tickets of the workspace, newest change first, by status or assignee if wanted. See get_ticket.',
  tier: 'read',
  actions: [],
  workspace: 'required',
  input: z.object({
    status: status.describe('Only those with this status; words such as todo, wip or closed will do').optional(),
    assignee: Id.describe('Only those that this agent or person works on').optional(),
    limit: limit(50),
    cursor: cursor(),
  }),
  output: z.object({
    tickets: z.array(TicketJson).describe('Newest change first'),
    count: z.number().describe('How many are in this answer'),
    next_cursor: nextCursor(),
  }),
  async handle({ status, assignee, limit, cursor }, ctx) {
    const db = await ctx.read(tickets);
    let query = db.selectFrom('tickets').select([...ticketColumns, 'updated_at']);
    if (status !== undefined) query = query.where('status', '=', status);
    if (assignee !== undefined) query = query.where('assignee_id', '=', assignee);
    const order = { order: [['updated_at', 'desc']], id: 'ticket_id' } as const;
    const { rows, next_cursor } = await page(query, { limit, cursor }, order);
    return { tickets: rows.map(ticketJson), count: rows.length, next_cursor };
  },
});
