import { TICKET_PRIORITIES, TICKET_PROVIDERS, TICKET_STATUSES } from '@cortex/contracts/ticket';
import { z } from 'zod';
import type { TicketRow } from '../projections/tables.js';
import type { Ticket } from '../ticket/ticket.decider.js';

/** A ticket as every tool shows it; what it has not is left out. */
export const ticketFields = {
  ticket_id: z.string().describe('Id of the ticket'),
  key: z.string().describe('What people call it, such as T-7'),
  title: z.string().describe('Its title'),
  status: z.enum(TICKET_STATUSES).describe('Where the work stands'),
  priority: z.enum(TICKET_PRIORITIES).describe('How urgent it is'),
  assignee: z.string().optional().describe('Who works on it'),
  team_id: z.string().optional().describe('Its team'),
  labels: z.array(z.string()).optional().describe('Its labels'),
  provider: z.enum(TICKET_PROVIDERS).describe('Where it is kept'),
  url: z.string().optional().describe('Its page at an outside tracker'),
};
export const TicketJson = z.object(ticketFields);

export const ticketColumns = [
  'ticket_id',
  'key',
  'title',
  'status',
  'priority',
  'assignee_id',
  'team_id',
  'labels',
  'provider',
  'url',
] as const;

/** `of`: the aggregate as a command left it, or a row of the view. */
export function ticketJson(of: Pick<TicketRow, (typeof ticketColumns)[number]> | Ticket): z.output<typeof TicketJson> {
  const { ticket_id, key, title, status, priority, assignee_id, team_id, labels, provider } = of;
  const url = 'url' in of ? of.url : null;
  return {
    ticket_id,
    key,
    title,
    status,
    priority: priorityWord(priority),
    ...(assignee_id !== null && { assignee: assignee_id }),
    ...(team_id !== null && { team_id }),
    ...(labels.length > 0 && { labels: [...labels] }),
    provider,
    ...(url !== null && { url }),
  };
}

export const priorityWord = (priority: number) => TICKET_PRIORITIES[priority] ?? 'none';

/** Text of others inside a question to a person: quoted, so that no line of it passes for one of ours. */
export const quoted = (text: string): string => JSON.stringify(text);
