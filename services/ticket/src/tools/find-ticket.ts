import { notFound, permissionDenied } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { keys, KEYS_ID, ticketOf } from '../keys/keys.decider.js';
import { tickets } from '../projections/tickets.projection.js';
import { ticket, type Ticket } from '../ticket/ticket.decider.js';

/**
 * The ticket that an argument names by id or key, as the log has it now, with the sequence of its last commit. What is new is
 * looked up in the log itself, so that nobody meets a view that lags; the view knows the older keys, and tells an id of
 * another workspace from one that nobody has. Errors: `not_found`, `permission_denied` wrong_workspace.
 */
export async function findTicket(
  ctx: ToolContext,
  field: string,
  named: string,
): Promise<{ ticket: Ticket; seq: number }> {
  const byId = await ctx.load(ticket, named);
  if (byId.state.status !== 'none') return { ticket: byId.state, seq: byId.seq };
  const db = await ctx.read(tickets);
  const row = await db.selectFrom('tickets').select('ticket_id').where('key', '=', named).executeTakeFirst();
  const ticket_id = row?.ticket_id ?? ticketOf((await ctx.load(keys, KEYS_ID)).state, named);
  if (ticket_id !== undefined) {
    const { state, seq } = await ctx.load(ticket, ticket_id);
    if (state.status !== 'none') return { ticket: state, seq };
  }
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
