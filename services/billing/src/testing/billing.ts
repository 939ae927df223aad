import type { Bus } from '@cortex/bus';
import type { SessionEvent } from '@cortex/contracts/session';
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
import type { Recorded } from '../cost/spending.js';
import { BillingModule } from '../billing.module.js';
import { costQuery } from '../tools/cost-query.tool.js';

export interface Usage {
  key: string;
  model?: string;
  [field: string]: unknown;
}

/** The service with a log to which sessions and workspaces can be written. */
export interface Billing extends AsyncDisposable {
  app: RunningService;
  /** A session of the person in the workspace; `per_1`, `w1` and project `arm` unless told otherwise. */
  session(id: string, data?: SessionData): Promise<WrittenSession>;
  end(session: WrittenSession, at?: string): Promise<void>;
  member(workspace: string, principal: string): Promise<void>;
  /** As the webhook route sends it, in the session's own name. */
  use(session: WrittenSession, usage: Usage, options?: CallOptions): Promise<Recorded>;
  /** What the tool answers, by default to the operator. */
  query(args?: { projectId?: string }, options?: CallOptions): Promise<z.output<typeof costQuery.output>>;
}

export const OPERATOR: CallOptions = { principal: { id: 'per_owner', roles: ['operator'] }, workspace: null };
export const person = (id: string): CallOptions => ({ principal: { id }, workspace: null });
export const agent = ({ id, workspace }: WrittenSession): CallOptions => ({
  principal: { type: 'agent', id },
  scope: { session_id: id },
  workspace,
});

export async function startBilling(options: StartOptions = {}): Promise<Billing> {
  const app = await startService(BillingModule, options);
  const buses = new Map<'session' | 'team', Promise<Bus>>();
  const busOf = (user: 'session' | 'team') => {
    const bus = buses.get(user) ?? app.nats.busAs(user);
    buses.set(user, bus);
    return bus;
  };
  return {
    app,
    session: async (id, data) => writeSession(await busOf('session'), id, data),
    async end({ id, workspace }, at) {
      const events: SessionEvent[] = [{ type: 'SessionEnded', data: { reason: 'done' } }];
      await writeEvents(await busOf('session'), 'session.session', workspace, id, events, { ...(at && { at }) });
    },
    member: async (workspace, principal) => writeMember(await busOf('team'), workspace, principal),
    use(session, usage, how = agent(session)) {
      const args = { sessionId: session.id, backend: 'claude', model: 'claude-sonnet-4-5', ...TOKENS, ...usage };
      return app.ask('cmd', 'record_usage', args, { from: 'mcp-edge', ...how });
    },
    query: (args = {}, how = OPERATOR) => app.call(costQuery, args, how),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

const TOKENS = { input_tokens: 0, output_tokens: 0 };
