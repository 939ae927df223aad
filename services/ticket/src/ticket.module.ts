import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { agents } from './projections/agents.projection.js';
import { migrations } from './projections/tables.js';
import { tickets } from './projections/tickets.projection.js';
import { tools } from './tools/registry.js';

export const ticketService = defineService({
  name: 'ticket',
  config,
  tools,
  projections: [tickets, agents],
  migrations,
});

@Module({ imports: [ServiceKit.forService(ticketService)] })
export class TicketModule {}
