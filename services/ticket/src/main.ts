import { runServices } from '@cortex/service-kit';
import { TicketModule, ticketService } from './ticket.module.js';

await runServices([{ module: TicketModule, def: ticketService }]);
