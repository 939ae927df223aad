import { unavailable } from '@cortex/contracts';
import { TICKET_ORIGINS, TICKET_ROLES } from '@cortex/contracts/ticket';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { tickets } from '../projections/tickets.projection.js';
import { ticketId } from './fields.js';
import { findTicket } from './find-ticket.js';
import { ticketFields, ticketJson } from './ticket-json.js';

/**
 * Shows one ticket whole.
 * Errors: not_found and permission_denied wrong_workspace (ticket_id).
 */
export const getTicket = defineTool({
  name: 'get_ticket',
  title: 'Read a ticket',
  description:
    'Everything about one ticket: description, collaborators, linked pull requests, output. See list_tickets.',
  tier: 'read',
  actions: [],
  workspace: 'required',
  input: z.object({ ticket_id: ticketId }),
  output: z.object({
    ...ticketFields,
    description: z.string().nullable().describe('The whole story in markdown'),
    collaborators: z
      .array(
        z.object({
          principal_id: z.string(),
          principal_type: z.enum(['agent', 'user']),
          role: z.enum(TICKET_ROLES),
        }),
      )
      .describe('Who takes part, first come first'),
    linked_pr_ids: z.array(z.string()).describe('Pull requests that belong to it'),
    parent_ticket_id: z.string().nullable().describe('The ticket that it is a part of'),
    space_id: z.string().nullable().describe('Where it is discussed'),
    origin_kind: z.enum(TICKET_ORIGINS).describe('How it came to be'),
    error_message: z.string().nullable().describe('Why it failed'),
    output: z.record(z.string(), z.unknown()).nullable().describe('What the work gave'),
    created_at: z.string().describe('ISO 8601'),
    updated_at: z.string().describe('ISO 8601'),
    version: z.number().describe('Up by one per change'),
  }),
  async handle(args, ctx) {
    const { ticket, seq } = await findTicket(ctx, 'ticket_id', args.ticket_id);
    const { ticket_id } = ticket;
    const db = await ctx.read(tickets, seq);
    const [row, collaborators] = await Promise.all([
      db.selectFrom('tickets').selectAll().where('ticket_id', '=', ticket_id).executeTakeFirst(),
      db
        .selectFrom('ticket_collaborators')
        .select(['principal_id', 'principal_type', 'role'])
        .where('ticket_id', '=', ticket_id)
        .orderBy('added_at')
        .orderBy('principal_id')
        .execute(),
    ]);
    if (!row) throw unavailable('ticket_id', 'is not in the view yet', 'try again in a moment');
    const { description, linked_pr_ids, parent_ticket_id, space_id, origin_kind } = row;
    const { error_message, output, created_at, updated_at, version } = row;
    return {
      ...ticketJson(row),
      description,
      collaborators,
      linked_pr_ids,
      parent_ticket_id,
      space_id,
      origin_kind,
      error_message,
      output,
      created_at,
      updated_at,
      version,
    };
  },
});
