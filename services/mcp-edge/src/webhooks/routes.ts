import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import {
  type BusRequest,
  type ErrorKind,
  invalidArgument,
  isCortexError,
  permissionDenied,
  type Principal,
  type ServiceName,
  subjects,
  unavailable,
} from '@cortex/contracts';
import { argumentsOf } from '@cortex/service-kit';
import { z } from 'zod';
import { type Instances, whileAlive } from '../catalog/instances.js';
import { publicError } from '../calls/refusals.js';
import { type CallerContext, type CallMeta, type Cancellation, MODERN, type RunCall } from '../seams.js';
import { type Reply, replyOf, succeeded } from './reply.js';

type Body = Record<string, unknown>;

/** What a route may use of the edge. */
export interface RouteWorld {
  readonly bus: Bus;
  readonly instances: Pick<Instances, 'hold'>;
  readonly runCall: RunCall;
}

/** One request whose token and body have been read. */
export interface Visit {
  readonly caller: CallerContext;
  /** Without its `sessionId`, which the caller stands for. */
  readonly body: Body;
  readonly meta: CallMeta;
  readonly cancel: Cancellation;
  readonly request_id: string;
}

interface Common {
  readonly method: 'GET' | 'POST';
  readonly maxBytes: number;
}

/** `x-cortex-token` says who asks. */
export interface TokenRoute extends Common {
  readonly door: 'token';
  /**
   * What `sessionId` is for whoever holds the server's secret: `open` must name an open session, `known` any, `optional` may name an open
   * one. A session's token stands for its own in any case.
   */
  readonly session: 'open' | 'known' | 'optional';
  /** A tool call leaves its own two records; of what is none the edge records the request. */
  readonly isCall: boolean;
  serve(visit: Visit, world: RouteWorld): Promise<Reply>;
}

/** The body brings a secret of its own. */
export interface OpenRoute extends Common {
  readonly door: 'open';
  serve(body: Body, world: RouteWorld): Promise<Reply>;
}
export type Route = TokenRoute | OpenRoute;

const MIB = 1024 * 1024;
const BODY_BYTES = 16 * MIB;
const SIGNAL_BYTES = 64 * 1024;
const ASK_MS = 30_000;
const SIGNALLER = { type: 'system', id: 'webhook', roles: [] } satisfies Principal;
const SIGNAL_TEXTS = ['status', 'message', 'member', 'dedupe_key'];
/** A signal that was judged has its status from the service; these are of what was not. */
const SIGNAL_STATUS: Partial<Record<ErrorKind, number>> = {
  invalid_argument: 400,
  unavailable: 503,
  deadline_exceeded: 503,
};
const WAIT_TOOLS = { create: 'wait_create', check: 'wait_check', cancel: 'wait_cancel' } as const;

/** Every route of the loopback listener. Source: agent-server, sections 18 and 19.1. */
export const ROUTES: Readonly<Record<string, Route>> = {
  '/webhook/signal': {
    door: 'open',
    method: 'POST',
    maxBytes: SIGNAL_BYTES,
    serve: signal,
  },
  '/webhook/tool': callRoute('open', toolCall, { whole: true }),
  '/webhook/waitpoint': callRoute('open', ({ action, channel, project, ...args }, caller) => {
    ownOnly(caller, { channel, project });
    return { tool: WAIT_TOOLS[oneOf('action', action, WAIT_TOOLS)], args };
  }),
  '/webhook/cost-query': callRoute('optional', (args) => ({ tool: 'cost_query', args })),
  '/webhook/query-executions': callRoute('optional', (args) => ({ tool: 'query_executions', args })),
  '/webhook/usage': {
    door: 'token',
    method: 'POST',
    maxBytes: BODY_BYTES,
    session: 'known',
    isCall: false,
    async serve({ body, caller }, world) {
      const args = { ...body, sessionId: caller.scope.session_id };
      return succeeded(await askService(world, 'billing', 'command', 'record_usage', asked(caller, args)));
    },
  },
  '/webhook/devices': {
    door: 'token',
    method: 'GET',
    maxBytes: 0,
    session: 'optional',
    isCall: false,
    async serve({ caller }, world) {
      inGroup(caller, 'cortex-core');
      // A machine that is not open to a session does not exist for it.
      const args = { reachable: caller.session !== undefined };
      const all = await askService(world, 'remote-ops', 'query', 'devices', asked(caller, args));
      const online = (all as { devices: { name: string; online: boolean }[] }).devices.filter((one) => one.online);
      return { status: 200, body: { devices: online.map(({ name }) => name) } };
    },
  },
};

interface Call {
  tool: string;
  args: unknown;
  key?: string;
}

/** A route that runs one tool, through the gates that every other call passes (threat T54). */
function callRoute(
  session: TokenRoute['session'],
  callOf: (body: Body, caller: CallerContext) => Call,
  { whole } = { whole: false },
): TokenRoute {
  return {
    door: 'token',
    method: 'POST',
    maxBytes: BODY_BYTES,
    session,
    isCall: true,
    async serve({ body, caller, meta, cancel, request_id }, { runCall }) {
      const { tool, args, key } = callOf(body, caller);
      const outcome = await runCall({
        caller,
        name: tool,
        args,
        era: 'modern',
        revision: MODERN,
        transport: 'loopback',
        meta: { ...meta, ...(key !== undefined && { idempotency_key: key }) },
        cancel,
        request_id,
      });
      return replyOf(outcome, { whole });
    },
  };
}

const ToolCall = argumentsOf(
  z.object({
    tool: z.string().min(1),
    arguments: z.record(z.string(), z.unknown()).optional(),
    idempotencyKey: z.string().optional(),
  }),
  'none',
);

function toolCall(body: Body): Call {
  const {
    tool,
    arguments: args,
    idempotencyKey,
  } = ToolCall.check(body) as {
    tool: string;
    arguments?: Body;
    idempotencyKey?: string;
  };
  return { tool, args, ...(idempotencyKey !== undefined && { key: idempotencyKey }) };
}

/** The waitpoint's own secret is the whole credential, so nothing but the fields of a signal is passed on. */
async function signal(body: Body, world: RouteWorld): Promise<Reply> {
  const text = (name: string): string | undefined => (typeof body[name] === 'string' ? body[name] : undefined);
  const { data } = body;
  const args = {
    id: text('id') ?? '',
    secret: text('secret') ?? '',
    source: 'webhook',
    ...Object.fromEntries(SIGNAL_TEXTS.flatMap((name) => (text(name) ? [[name, text(name)]] : []))),
    ...(data !== undefined && { data }),
  };
  try {
    const who = { principal: SIGNALLER, scope: {}, workspace_id: null };
    const reply = await askService(world, 'waitpoint', 'command', 'signal', { ...who, args });
    const { http, body: said } = reply as { http: number; body: object };
    return { status: http, body: said };
  } catch (error) {
    const { kind, message } = publicError(error, '');
    const status = SIGNAL_STATUS[kind] ?? 500;
    return { status, body: { error: message }, ...(status === 503 && { headers: { 'Retry-After': '1' } }) };
  }
}

type Asked = Pick<BusRequest, 'principal' | 'scope' | 'workspace_id' | 'args' | 'caller'>;

const asked = ({ principal, scope, caller_hash, session }: CallerContext, args: Body): Asked => ({
  principal,
  scope,
  workspace_id: session?.workspace ?? null,
  args,
  caller: caller_hash,
});

/** A question or command in the caller's name. The words of the bus name subjects; whoever asks here is told of the service. */
async function askService(
  { bus, instances }: RouteWorld,
  service: ServiceName,
  kind: 'query' | 'command',
  name: string,
  request: Asked,
): Promise<unknown> {
  const common = { v: 1, call_id: randomUUID(), deadline_ms: ASK_MS } as const;
  const asked = () => ask(bus, subjects[kind](service, name), { ...common, ...request });
  try {
    return (await whileAlive(instances, service, asked, () => unknownOutcome(service))).data;
  } catch (error) {
    const outcome = isCortexError(error) ? error.details?.['outcome'] : undefined;
    if (outcome === 'not_sent')
      throw unavailable(undefined, `${service} is away and nothing was changed`, 'try again in a moment');
    if (outcome === 'unknown') throw unknownOutcome(service);
    throw error;
  }
}

const unknownOutcome = (service: ServiceName) =>
  unavailable(undefined, `${service} gave no answer, and what it did is unknown`, 'send the same once more');

/** A session's route is of no use to a session that was started without the group; the server's secret alone has none. */
function inGroup({ session }: CallerContext, group: string): void {
  if (session === undefined || session.groups.has(group)) return;
  throw permissionDenied(undefined, `this route is of the group ${group}, which this session was started without`, '', {
    reason: 'refused_by_composition',
  });
}

/** What the session's claims say is not for the body to change; told again it must be the same. */
function ownOnly({ scope }: CallerContext, given: { channel: unknown; project: unknown }): void {
  for (const name of ['channel', 'project'] as const) {
    const value = given[name] ?? undefined;
    if (value !== undefined && value !== scope[name])
      throw permissionDenied(name, 'is not that of the session', 'leave it out', { reason: 'forbidden' });
  }
}

function oneOf<T extends object>(field: string, value: unknown, known: T): keyof T {
  if (typeof value === 'string' && Object.hasOwn(known, value)) return value as keyof T;
  const names = Object.keys(known).join(', ');
  if (value === undefined) throw invalidArgument(field, 'is missing', `give one of ${names}`);
  throw invalidArgument(field, 'is none of the known values', `use one of ${names}`);
}
