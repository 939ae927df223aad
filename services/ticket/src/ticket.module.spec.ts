import { startsWithoutTools } from '@cortex/testing';
import { TicketModule, ticketService } from './ticket.module.js';

startsWithoutTools({ module: TicketModule, def: ticketService });
