import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { setGrant } from './commands/set-grant.js';
import { agents } from './projections/agents.projection.js';
import { domains } from './projections/domains.projection.js';
import { facts } from './projections/facts.projection.js';
import { repos } from './projections/repos.projection.js';
import { migrations } from './projections/tables.js';
import { tools } from './tools/registry.js';

export const memoryService = defineService({
  name: 'memory',
  config,
  tools,
  commands: [setGrant],
  projections: [domains, facts, agents, repos],
  migrations,
});

@Module({ imports: [ServiceKit.forService(memoryService)] })
export class MemoryModule {}
