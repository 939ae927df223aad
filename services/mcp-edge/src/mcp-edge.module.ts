import { defineService, HOST, ServiceKit, type ServiceHost } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { People } from './auth/people.js';
import { registerPerson } from './commands/register-person.js';
import { reviewDefinition } from './commands/review-definition.js';
import { openConfig } from './config.js';
import { Edge } from './edge.js';
import { gateProjections } from './guard/live-views.js';
import { definitions } from './projections/definitions.projection.js';
import { migrations, stateTables } from './projections/tables.js';
import { personName } from './queries/person-name.js';
import { personQuery } from './queries/person.js';
import { tools } from './tools/registry.js';

export const mcpEdgeService = defineService({
  name: 'mcp-edge',
  config: openConfig,
  tools,
  projections: [...gateProjections, definitions],
  migrations,
  stateTables,
  onBatch: (projection, { seq }, get) => get(Edge).views.announce(projection, seq),
  queries: [personName, personQuery],
  commands: [registerPerson, reviewDefinition],
  providers: [
    { provide: People, useFactory: (host: ServiceHost) => People.of(host), inject: [HOST] },
    {
      provide: Edge,
      useFactory: (host: ServiceHost, people: People) => new Edge(host, people),
      inject: [HOST, People],
    },
  ],
});

@Module({ imports: [ServiceKit.forService(mcpEdgeService)] })
export class McpEdgeModule {}
