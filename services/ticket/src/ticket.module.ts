import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { GapWebhook } from './adapters/gap-webhook.js';
import { noteBackendGap } from './commands/note-backend-gap.js';
import { reportGap } from './commands/report-gap.js';
import { triageGap } from './commands/triage-gap.js';
import { config } from './config.js';
import { agents } from './projections/agents.projection.js';
import { gaps } from './projections/gaps.projection.js';
import { migrations } from './projections/tables.js';
import { tickets } from './projections/tickets.projection.js';
import { listGaps } from './queries/list-gaps.js';
import { gapNotice } from './reactors/gap-notice.reactor.js';
import { tools } from './tools/registry.js';

export const ticketService = defineService({
  name: 'ticket',
  config,
  tools,
  projections: [tickets, agents, gaps],
  migrations,
  queries: [listGaps],
  commands: [reportGap, noteBackendGap, triageGap],
  reactors: [gapNotice],
  providers: [GapWebhook],
});

@Module({ imports: [ServiceKit.forService(ticketService)] })
export class TicketModule {}
