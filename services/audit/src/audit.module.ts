import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { config } from './config.js';
import { requests } from './projections/requests.projection.js';
import { migrations } from './projections/tables.js';
import { toolCalls } from './projections/tool-calls.projection.js';
import { tools } from './tools/registry.js';

export const auditService = defineService({
  name: 'audit',
  config,
  tools,
  projections: [toolCalls, requests],
  migrations,
});

@Module({ imports: [ServiceKit.forService(auditService)] })
export class AuditModule {}
