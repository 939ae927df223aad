import { notFound, permissionDenied } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { tickets } from '../projections/tickets.projection.js';
import { known, ticket, type Ticket } from '../ticket/ticket.decider.js';

/**
 * The ticket that an argument names by id or key, as the log has it now. The view finds a key, and tells an id of another
 * workspace from one that nobody has; a ticket that the view does not show yet is found by its id in the log.
 * Errors: `not_found`, `permission_denied` wrong_workspace.
 */
export async function findTicket(ctx: ToolContext, field: string, named: string): Promise<Ticket> {
  const db = await ctx.read(tickets);
  const row = await db
    .selectFrom('tickets')
    .select('ticket_id')
    .where((eb) => eb.or([eb('ticket_id', '=', named), eb('key', '=', named)]))
    // An outside tracker could use a key that is another ticket's id.
    .orderBy((eb) => eb('ticket_id', '=', named), 'desc')
    .executeTakeFirst();
  const { state } = await ctx.load(ticket, row?.ticket_id ?? named);
  if (state.status !== 'none') return known(state);
  const elsewhere = await db
    .selectFrom('ticket_ids')
    .select('workspace')
    .where('ticket_id', '=', named)
    .executeTakeFirst();
  if (elsewhere) throw wrongWorkspace(field);
  throw notFound(field, 'names no ticket of this workspace', 'see list_tickets');
}

export const wrongWorkspace = (field: string) =>
  permissionDenied(field, 'belongs to a different workspace', 'use an id of this one', { reason: 'wrong_workspace' });
