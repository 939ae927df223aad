import { TICKET_STATUSES } from '@cortex/contracts/ticket';
import { defineTool, document } from '@cortex/service-kit';
import { z } from 'zod';
import { known, ticket } from '../ticket/ticket.decider.js';
import { ticketId } from './fields.js';
import { findTicket } from './find-ticket.js';
import { quoted } from './ticket-json.js';

/**
 * Ends a ticket as done, from every status that is not final.
 * Events: TicketCompleted, TicketStatusChanged; none when it is final already.
 * Errors: not_found and permission_denied wrong_workspace (ticket_id).
 */
export const closeTicket = defineTool({
  name: 'close_ticket',
  title: 'Close a ticket',
  description:
    'Marks the work of a ticket as done, with what it gave if there is something to keep. Closing it again is safe and ' +
    'changes nothing; already_terminal then says that it had ended before.',
  tier: 'write',
  actions: ['vendorSyncWrite'],
  workspace: 'required',
  input: z.object({
    ticket_id: ticketId,
    output: document({ maxBytes: 256 * 1024 })
      .describe('What the work gave, an object of at most 256 KiB of JSON')
      .optional(),
  }),
  output: z.object({
    ticket_id: z.string().describe('Id of the ticket'),
    status: z.enum(TICKET_STATUSES).describe('The status now'),
    already_terminal: z.literal(true).optional().describe('It had ended before; nothing was changed'),
  }),
  async approval({ ticket_id }, ctx) {
    const { key, title } = (await findTicket(ctx, 'ticket_id', ticket_id)).ticket;
    return { title: 'Close ticket', detail: `${key}: ${quoted(title)}` };
  },
  async handle({ ticket_id: named, output = null }, ctx) {
    const { ticket_id } = (await findTicket(ctx, 'ticket_id', named)).ticket;
    const { events } = await ctx.execute(ticket, ticket_id, { type: 'CloseTicket', output });
    if (events.length > 0) return { ticket_id, status: 'done' as const };
    const { state } = await ctx.load(ticket, ticket_id);
    return { ticket_id, status: known(state).status, already_terminal: true as const };
  },
});
