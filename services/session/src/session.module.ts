import { defineService, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { deliver } from './commands/deliver.js';
import { endSession } from './commands/end-session.js';
import { issueToken } from './commands/issue-token.js';
import { openSession } from './commands/open-session.js';
import { config } from './config.js';
import { SessionKeys } from './keys/session-keys.js';
import { SessionTokens } from './keys/session-tokens.js';
import { sessions } from './projections/sessions.projection.js';
import { migrations } from './projections/tables.js';
import { jwks } from './queries/jwks.js';
import { sessionQuery } from './queries/session.js';
import { sessionsQuery } from './queries/sessions.js';
import { executions } from './reactors/executions.reactor.js';
import { tools } from './tools/registry.js';

export const sessionService = defineService({
  name: 'session',
  config,
  tools,
  queries: [jwks, sessionQuery, sessionsQuery],
  commands: [openSession, issueToken, endSession, deliver],
  projections: [sessions],
  reactors: [executions],
  migrations,
  providers: [SessionKeys, SessionTokens],
});

@Module({ imports: [ServiceKit.forService(sessionService)] })
export class SessionModule {}
