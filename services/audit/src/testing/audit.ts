import type { Bus } from '@cortex/bus';
import { subjects, type CallFinished, type CallStarted } from '@cortex/contracts';
import type { CostEvent } from '@cortex/contracts/cost';
import {
  startService,
  writeEvents,
  writeMember,
  writeSession,
  type CallOptions,
  type RunningService,
  type SessionData,
  type StartOptions,
  type WrittenSession,
} from '@cortex/testing';
import type { z } from 'zod';
import { AuditModule, auditService } from '../audit.module.js';
import { queryExecutions } from '../tools/query-executions.tool.js';

/** An end as the session service tells it. */
export interface End {
  outcome: 'completed' | 'failed' | 'cancelled';
  [field: string]: unknown;
}

/** The service with a log to which sessions, costs and tool calls can be written. */
export interface Audit extends AsyncDisposable {
  app: RunningService;
  session(id: string, data?: SessionData): Promise<WrittenSession>;
  end(session: WrittenSession, at: string): Promise<void>;
  member(workspace: string, principal: string): Promise<void>;
  /** Answers the id of the execution. */
  start(session: WrittenSession, more?: Record<string, unknown>): Promise<string>;
  finish(session: WrittenSession, end: End, execution?: string): Promise<void>;
  cost(session: WrittenSession, id: string, more: Partial<CostEvent['data']>): Promise<void>;
  /** One record, or with `ended` also its end. */
  toolCall(record: Partial<CallStarted>, ended?: Partial<CallFinished>): Promise<void>;
  query(
    args?: z.input<typeof queryExecutions.input>,
    how?: CallOptions,
  ): Promise<z.output<typeof queryExecutions.output>>;
}

export const OPERATOR: CallOptions = { principal: { id: 'per_owner', roles: ['operator'] }, workspace: null };
export const executionOf = ({ id }: WrittenSession): string => `exec_local_0_${id}`;

export async function startAudit(options: StartOptions = {}): Promise<Audit> {
  const app = await startService({ module: AuditModule, def: auditService }, options);
  const buses = new Map<string, Promise<Bus>>();
  const busOf = (user: 'session' | 'team' | 'billing' | 'mcp-edge') => {
    const bus = buses.get(user) ?? app.nats.busAs(user);
    buses.set(user, bus);
    return bus;
  };
  const command = (name: string, { workspace }: WrittenSession, args: Record<string, unknown>) =>
    app.ask('cmd', name, args, { from: 'session', principal: { type: 'system', id: 'executions_v1' }, workspace });
  return {
    app,
    session: async (id, data) => writeSession(await busOf('session'), id, data),
    async end({ id, workspace }, at) {
      const ended = [{ type: 'SessionEnded', data: { reason: 'done' } }];
      await writeEvents(await busOf('session'), 'session.session', workspace, id, ended, { at });
    },
    member: async (workspace, principal) => writeMember(await busOf('team'), workspace, principal),
    async start(session, more = {}) {
      const execution_id = executionOf(session);
      await command('start_execution', session, { execution_id, session_id: session.id, ...more });
      return execution_id;
    },
    async finish(session, end, execution_id = executionOf(session)) {
      await command('finish_execution', session, { execution_id, session_id: session.id, ...end });
    },
    async cost(session, id, more) {
      const data: CostEvent['data'] = { ...COST, entry_id: id, session_id: session.id, ...more };
      const events: CostEvent[] = [{ type: 'CostRecorded', data }];
      await writeEvents(await busOf('billing'), 'billing.cost', session.workspace, id, events);
    },
    async toolCall(record, ended) {
      const edge = await busOf('mcp-edge');
      const started = { ...CALL, at: new Date().toISOString(), ...record };
      const send = (message: object) =>
        edge.publishAcked(subjects.call(started.service, started.tool), JSON.stringify(message));
      await send({ type: 'ToolCallStarted', ...started });
      if (!ended) return;
      const end = { outcome: 'succeeded', finished_at: started.at, classes: [], duration_ms: 1, result_bytes: 2 };
      await send({ type: 'ToolCallFinished', ...started, ...end, ...ended });
    },
    query: (args = {}, how = OPERATOR) => app.call(queryExecutions, args, how),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

const COST: CostEvent['data'] = {
  entry_id: '',
  timestamp: '2026-01-05T10:00:00.000Z',
  project: 'arm',
  trigger: 'cli',
  cost_usd: null,
  num_turns: null,
  duration_s: null,
  backend: 'claude',
  mode: 'api',
  source: 'gateway',
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_creation_tokens: 0,
  provider: null,
  model: 'm',
  session_id: null,
  owner_session_id: null,
  execution_id: null,
};

const CALL = {
  call_id: 'call_1',
  tool: 'remote_bash',
  service: 'remote-ops',
  target_app: 'gateway',
  caller_sub: 'owner',
  client_id: 'cli',
  params_hash: null,
  args_bytes: 2,
  transport: 'http',
  era: 'modern',
  deadline_ms: 60_000,
};
