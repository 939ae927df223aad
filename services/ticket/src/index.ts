export { TicketModule, ticketService } from './ticket.module.js';
