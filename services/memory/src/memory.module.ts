import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { setGrant } from './commands/set-grant.js';
import { agents } from './projections/agents.projection.js';
import { memory } from './projections/memory.projection.js';
import { repos } from './projections/repos.projection.js';
import { migrations } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const memoryService = defineService({
  name: 'memory',
  config,
  tools,
  commands: [setGrant],
  projections: [memory, agents, repos],
  migrations,
});

@Module({ imports: [ServiceKit.forService(memoryService)] })
export class MemoryModule {}
