import type { Tool } from '@cortex/service-kit';
import { closeTicket } from './close-ticket.tool.js';
import { createTicket } from './create-ticket.tool.js';
import { getTicket } from './get-ticket.tool.js';
import { listTickets } from './list-tickets.tool.js';
import { updateTicket } from './update-ticket.tool.js';

/** Every tool of the service, in the order in which it is listed. */
export const tools: readonly Tool[] = [createTicket, getTicket, listTickets, updateTicket, closeTicket];
