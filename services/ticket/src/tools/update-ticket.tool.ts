import { charCount, firstChars } from '@cortex/contracts/text';
import { TICKET_STATUSES, type TicketStatus } from '@cortex/contracts/ticket';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { targetsOf } from '../ticket/statuses.js';
import { known, ticket, type TicketUpdate } from '../ticket/ticket.decider.js';
import { description, labels, priority, status, ticketId, title } from './fields.js';
import { findTicket } from './find-ticket.js';
import { priorityWord, quoted } from './ticket-json.js';

const FIELDS = ['title', 'description', 'priority', 'labels', 'status'] as const;

/**
 * Changes what is written about a ticket, and moves it along the graph of its statuses.
 * Events: TicketDetailsUpdated; TicketStatusChanged with TicketStarted, TicketCompleted, TicketFailed or TicketCancelled;
 * none for what is so already. Errors: invalid_argument (nothing given, too many labels), not_found and permission_denied
 * wrong_workspace (ticket_id). A move that the graph has not is none: the answer says so.
 */
export const updateTicket = defineTool({
  name: 'update_ticket',
  title: 'Update a ticket',
  description:
    'Changes title, description, priority, labels or status of a ticket; what is left out stays. A status that cannot ' +
    'follow the present one is not applied, and status_note says which ones can. Sending the same again is safe. ' +
    'See close_ticket for finished work.',
  tier: 'write',
  actions: ['vendorSyncWrite'],
  workspace: 'required',
  input: z.object({
    ticket_id: ticketId,
    status: status.describe('The new status; words such as todo, wip or closed will do').optional(),
    title: title.optional(),
    description: description.optional(),
    priority: priority.optional(),
    labels: labels.describe('All labels from now on, at most 50 of 1 to 64 characters').optional(),
    remove_labels: labels.describe('Labels to take away').optional(),
    add_labels: labels.describe('Labels to add, after the removal').optional(),
  }),
  output: z.object({
    ticket_id: z.string().describe('Id of the ticket'),
    updated: z.array(z.enum(FIELDS)).describe('What this call changed; what was so already is left out'),
    status: z.enum(TICKET_STATUSES).describe('The status now'),
    status_applied: z.boolean().describe('True when the status asked for is the status now'),
    status_note: z.string().optional().describe('Why it is not, and what can follow'),
  }),
  async approval({ ticket_id, ...update }, ctx) {
    const found = await findTicket(ctx, 'ticket_id', ticket_id);
    return { title: 'Update ticket', detail: [`Ticket: ${found.ticket.key}`, ...linesOf(update)].join('\n') };
  },
  async handle({ ticket_id: named, ...update }, ctx) {
    const { ticket_id } = (await findTicket(ctx, 'ticket_id', named)).ticket;
    const { events } = await ctx.execute(ticket, ticket_id, { type: 'UpdateTicket', update });
    const changed = new Set<string>();
    let moved: TicketStatus | undefined;
    for (const { type, data } of events) {
      if (type === 'TicketDetailsUpdated') for (const field of Object.keys(data.changes)) changed.add(field);
      if (type === 'TicketStatusChanged') {
        changed.add('status');
        moved = data.to;
      }
    }
    const { state } = await ctx.load(ticket, ticket_id);
    // Somebody else may have moved it on already: what this call did is what it tells.
    const status = moved ?? known(state).status;
    const refused = update.status !== undefined && update.status !== status;
    return {
      ticket_id,
      updated: FIELDS.filter((field) => changed.has(field)),
      status,
      status_applied: update.status === status,
      ...(refused && { status_note: noteOf(status, update.status) }),
    };
  },
});

function noteOf(now: TicketStatus, asked: TicketStatus | undefined): string {
  const targets = targetsOf(now);
  return targets.length === 0
    ? `the ticket is ${now}, which is final; make a new one with create_ticket`
    : `the ticket is ${now} and cannot become ${asked} from there; allowed are ${targets.join(', ')}`;
}

/** What a person is to agree to: each field with its new value, a long text shortened and said to be. */
function linesOf({ status, title, description, priority, labels, remove_labels, add_labels }: TicketUpdate): string[] {
  const set = (of: readonly string[]) => (of.length === 0 ? 'none' : of.map(quoted).join(', '));
  return [
    ...(status === undefined ? [] : [`Status: ${status}`]),
    ...(title === undefined ? [] : [`Title: ${quoted(title)}`]),
    ...(description === undefined ? [] : [`Description: ${shortened(description)}`]),
    ...(priority === undefined ? [] : [`Priority: ${priorityWord(priority)}`]),
    ...(labels === undefined ? [] : [`Labels: ${set(labels)}`]),
    ...(remove_labels === undefined ? [] : [`Labels removed: ${set(remove_labels)}`]),
    ...(add_labels === undefined ? [] : [`Labels added: ${set(add_labels)}`]),
  ];
}

const SHOWN = 500;

function shortened(text: string): string {
  const shown = firstChars(text, SHOWN);
  return shown === text ? quoted(text) : `${quoted(shown)}… (${charCount(text)} characters in all)`;
}
