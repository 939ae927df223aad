import type { Tool } from '@cortex/service-kit';
import { createTicket } from './create-ticket.tool.js';
import { getTicket } from './get-ticket.tool.js';
import { listTickets } from './list-tickets.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: readonly Tool[] = [createTicket, getTicket, listTickets];
