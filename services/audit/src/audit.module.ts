import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { Anchoring } from './chain/anchoring.js';
import { finishExecution } from './commands/finish-execution.js';
import { purge } from './commands/purge.js';
import { startExecution } from './commands/start-execution.js';
import { config } from './config.js';
import { ExecutionImport } from './execution-import/execution-import.js';
import { StaleCheck } from './execution/stale-check.js';
import { callChain } from './projections/call-chain.proof.js';
import { executionCosts } from './projections/execution-costs.projection.js';
import { executions } from './projections/executions.projection.js';
import { requests } from './projections/requests.projection.js';
import { migrations } from './projections/tables.js';
import { toolCalls } from './projections/tool-calls.projection.js';
import { ownership } from './projections/ownership.js';
import { Retention } from './retention/purge.js';
import { tools } from './tools/registry.js';

export const auditService = defineService({
  name: 'audit',
  config,
  tools,
  commands: [startExecution, finishExecution, purge],
  projections: [toolCalls, requests, callChain, executions, executionCosts, ownership.sessions, ownership.memberships],
  migrations,
  providers: [StaleCheck, ExecutionImport, Anchoring, Retention],
});

@Module({ imports: [ServiceKit.forService(auditService)] })
export class AuditModule {}
