import { defineService, HOST, ServiceKit, type ServiceHost } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { Edge } from './edge.js';
import { migrations, stateTables } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const mcpEdgeService = defineService({
  name: 'mcp-edge',
  config,
  tools,
  migrations,
  stateTables,
  providers: [{ provide: Edge, useFactory: (host: ServiceHost) => new Edge(host), inject: [HOST] }],
});

@Module({ imports: [ServiceKit.forService(mcpEdgeService)] })
export class McpEdgeModule {}
