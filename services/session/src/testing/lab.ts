import { CortexError, EVENTS_STREAM, type CommitEnvelope } from '@cortex/contracts';
import type { SessionEvent } from '@cortex/contracts/session';
import { startService, type CallOptions, type RunningService, type StartOptions } from '@cortex/testing';
import { SessionModule } from '../session.module.js';
import { around, type Around } from './around.js';

export const ALL_SCOPES = ['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices', 'mcp:cortex:admin'];

export interface Opened {
  session_id: string;
  workspace_id: string | null;
  channel: string;
  project: string;
  execution_id: string;
  token: string;
  expires_at: string;
  groups: string[];
  scopes: string[];
  withheld: string[];
}

export interface Lab extends AsyncDisposable {
  app: RunningService;
  around: Around;
  open(args?: Record<string, unknown>, options?: CallOptions): Promise<Opened>;
  command<T = Record<string, unknown>>(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<T>;
  /** As the command line asks. */
  query<T>(name: string, args: Record<string, unknown>): Promise<T>;
  deliver(args: Record<string, unknown>, options?: CallOptions): Promise<{ message_id: string; session_id: string }>;
  /** Every event of sessions, oldest first. */
  events(): Promise<(SessionEvent & { id: string; session_id?: string; project?: string })[]>;
}

/** The service with its neighbours, on a bus and a database of its own. Calls come from no workspace unless they say so. */
export async function lab(options: StartOptions = {}): Promise<Lab> {
  const app = await startService(SessionModule, options);
  const neighbours = await around(app.nats);
  const command: Lab['command'] = (name, args, given = {}) => app.ask('cmd', name, args, { workspace: null, ...given });
  return {
    app,
    around: neighbours,
    command,
    open: (args = {}, given) => command('open_session', { person_id: 'per_1', scopes: ALL_SCOPES, ...args }, given),
    query: (name, args) => app.ask('query', name, args, { workspace: null, from: 'provision' }),
    deliver: (args, given = {}) =>
      app.ask(
        'cmd',
        'deliver',
        { origin: 'external-signal', ...args },
        { workspace: 'w1', from: 'waitpoint', ...given },
      ),
    async events() {
      const bus = await app.nats.busAs('provision');
      const found: Awaited<ReturnType<Lab['events']>> = [];
      for (let seq = 1; ;) {
        const message = await bus.direct.next(EVENTS_STREAM, 'cortex.evt.session.*.session.*', seq);
        if (message === null) break;
        const { events, session_id, project } = JSON.parse(Buffer.from(message.data).toString()) as CommitEnvelope;
        const id = message.subject.split('.').at(-1)!;
        found.push(
          ...events.map((event) => ({ ...(event as unknown as SessionEvent), id, session_id, project }) as never),
        );
        seq = message.seq + 1;
      }
      await bus.close();
      return found;
    },
    async [Symbol.asyncDispose]() {
      await neighbours[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
    },
  };
}

export const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;

/** The error of a call that must not succeed. */
export const errorOf = async (call: Promise<unknown>): Promise<CortexError> =>
  call.then(
    () => {
      throw new Error('was not refused');
    },
    (error: unknown) => error as CortexError,
  );
