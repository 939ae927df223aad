import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import {
  CortexError,
  PROVISIONER,
  subjects,
  type BusRequest,
  type BusUser,
  type CallScope,
  type Principal,
  type ToolReplyHead,
} from '@cortex/contracts';
import {
  definitionOf,
  ServiceKit,
  startProcess,
  type Runnable,
  type ServiceDefinition,
  type ServiceHost,
  type Tool,
} from '@cortex/service-kit';
import { Module, type Type } from '@nestjs/common';
import type { z } from 'zod';
import { natsFixture, type NatsFixture } from './nats-fixture.js';
import { postgresFixture, type PostgresFixture } from './postgres-fixture.js';
import { testHome } from './test-home.js';

/** Who calls and how; what is left out is a user `per_1` in workspace `w1` with 10 s of time. */
export interface CallOptions {
  principal?: Partial<Principal>;
  scope?: CallScope;
  workspace?: string | null;
  /** Idempotency key. */
  key?: string;
  /** SHA-256 of the caller key. */
  caller?: string;
  call_id?: string;
  mode?: string;
  approval?: BusRequest['approval'];
  resume?: boolean;
  after?: number;
  /** Of the query `approval_payload`: whose call it is about. */
  tool?: string;
  deadlineMs?: number;
  traceparent?: string;
}

export interface FramedReply {
  head: ToolReplyHead;
  /** `"content":[…],"structuredContent":{…}`, fetched when it came by blob. */
  body: string;
}

export interface RunningService extends AsyncDisposable {
  readonly host: ServiceHost;
  readonly nats: NatsFixture;
  readonly postgres: PostgresFixture;
  /** Of the process: its own `/health`, `/ready`, `/metrics`; null when a service of it has a listener. */
  readonly opsUrl: string | null;
  /** What the process has logged so far, one JSON line each. */
  readonly log: readonly string[];
  /** The lines of the audit trail so far. */
  readonly lines: readonly string[];
  /** A Nest provider of the service. */
  get<T>(provider: Type<T> | symbol | string): T;
  /** Stands for the edge: the structured result, or a thrown CortexError. Remembers `last_seq` for the next call, as the edge does. */
  call<I extends z.ZodObject, O extends z.ZodObject>(
    tool: Tool<I, O>,
    args: z.input<I>,
    options?: CallOptions,
  ): Promise<z.output<O>>;
  /** The same with any name and arguments, and the whole reply. */
  send(tool: string, args: unknown, options?: CallOptions): Promise<FramedReply>;
  /** A query or command of this service, sent by a user who may. */
  ask<T = unknown>(
    kind: 'query' | 'cmd',
    name: string,
    args: Record<string, unknown>,
    options?: CallOptions & { from?: BusUser },
  ): Promise<T>;
  /** What the edge sends when a client gives up. */
  cancel(callId: string): void;
  /** Orderly stop, as by SIGTERM; the servers stay. */
  stop(): Promise<void>;
}

export interface StartOptions {
  env?: Record<string, string>;
  /** Other services in the same process. */
  beside?: readonly Startable[];
  /** Share servers with another fixture; they then outlive this one. */
  nats?: NatsFixture;
  postgres?: PostgresFixture;
  /** Default true: resolves when it is ready and announced. */
  ready?: boolean;
}

/** A service's module, its definition, or both. */
export type Startable = Type | ServiceDefinition | Runnable;

/** Provisions a bus and a database for the service, starts it and waits until it is ready. */
export async function startService(service: Startable, options: StartOptions = {}): Promise<RunningService> {
  const services = [service, ...(options.beside ?? [])].map(runnableOf);
  const definitions = services.map(({ def }) => def);
  const owned: AsyncDisposable[] = [];
  const log: string[] = [];
  const lines: string[] = [];
  try {
    const postgres = options.postgres ?? (await postgresFixture(definitions));
    if (!options.postgres) owned.unshift(postgres);
    const nats = options.nats ?? (await natsFixture({ services: definitions }));
    if (!options.nats) owned.unshift(nats);
    const home = await testHome(
      { bus: (user) => nats.passwordOf(user), database: (role) => postgres.passwordOf(role) },
      options.env?.['CORTEX_HOME'],
    );
    owned.unshift(home);
    const running = await startProcess(services, {
      env: {
        NODE_ENV: 'test',
        CORTEX_HOME: home.dir,
        CORTEX_NATS_URL: nats.url,
        CORTEX_DATABASE_URL: postgres.url,
        CORTEX_OPS_PORT: '0',
        CORTEX_LOG_LEVEL: 'debug',
        ...options.env,
      },
      logTo: { write: (line: string) => void log.push(line.trimEnd()) },
      linesTo: { write: (line) => void lines.push(line), dropped: 0, end: () => Promise.resolve() },
    });
    owned.unshift({ [Symbol.asyncDispose]: () => running.stop() });
    if (options.ready !== false) await within(30_000, running.ready, log);
    const senders = new Map<BusUser, Promise<Bus>>();
    const busAs = (user: BusUser): Promise<Bus> => {
      let bus = senders.get(user);
      if (!bus) senders.set(user, (bus = nats.busAs(user)));
      return bus;
    };
    const host = running.hosts[0]!;
    // Connected before it is needed, since `cancel` waits for nothing.
    const edge = options.ready === false ? undefined : await busAs('mcp-edge');
    return {
      host,
      nats,
      postgres,
      log,
      lines,
      opsUrl: running.opsPort === null ? null : `http://127.0.0.1:${running.opsPort}`,
      get: (provider) => host.get(provider),
      ...callsOf(host, busAs),
      cancel: (callId) =>
        edge?.publish(`cortex.live.${host.definition.name}.cancel`, JSON.stringify({ call_id: callId })),
      stop: () => running.stop(),
      [Symbol.asyncDispose]: () => disposeAll(owned),
    };
  } catch (error) {
    await disposeAll(owned);
    throw error;
  }
}

function callsOf(
  host: ServiceHost,
  busAs: (user: BusUser) => Promise<Bus>,
): Pick<RunningService, 'call' | 'send' | 'ask'> {
  const { name } = host.definition;
  let after: number | undefined;
  const send: RunningService['send'] = async (tool, args, options = {}) => {
    const bus = await busAs('mcp-edge');
    const request = requestOf(args as Record<string, unknown>, { ...(after !== undefined && { after }), ...options });
    const text = JSON.stringify(request);
    const large = Buffer.byteLength(text) > 512 * 1024;
    const sent = large ? JSON.stringify({ blob: await bus.blobs.put(Buffer.from(text)) }) : text;
    const reply = await bus.request(subjects.tool(name, tool), sent, { timeoutMs: request.deadline_ms + 5_000 });
    const bytes = Buffer.from(reply.data);
    const end = bytes.indexOf('\n');
    const head = JSON.parse(bytes.subarray(0, end).toString()) as ToolReplyHead;
    if (head.last_seq !== undefined) after = Math.max(after ?? 0, head.last_seq);
    const body = head.ok && head.blob ? Buffer.from(await bus.blobs.get(head.blob)) : bytes.subarray(end + 1);
    return { head, body: body.toString() };
  };
  return {
    send,
    async call(tool, args, options) {
      const { head, body } = await send(tool.name, args, options);
      if (!head.ok) throw CortexError.fromWire(head.error);
      if (head.wait) throw new Error(`${tool.name} waits for ${head.wait.subject}; use send`);
      return (JSON.parse(`{${body}}`) as { structuredContent: never }).structuredContent;
    },
    async ask<T>(
      kind: 'query' | 'cmd',
      what: string,
      args: Record<string, unknown>,
      options: CallOptions & { from?: BusUser } = {},
    ) {
      const bus = await busAs(options.from ?? (kind === 'cmd' ? PROVISIONER : 'mcp-edge'));
      const { data } = await ask(bus, `cortex.${kind}.${name}.${what}`, requestOf(args, options));
      return data as T;
    },
  };
}

function requestOf(args: Record<string, unknown>, options: CallOptions): BusRequest {
  const { principal, scope = {}, workspace = 'w1', key, deadlineMs = 10_000, call_id = randomUUID() } = options;
  const { caller, mode, approval, resume, after, tool, traceparent } = options;
  return {
    v: 1,
    call_id,
    workspace_id: workspace,
    principal: { type: principal?.type ?? 'user', id: principal?.id ?? 'per_1', roles: principal?.roles ?? [] },
    scope,
    args,
    deadline_ms: deadlineMs,
    ...(key !== undefined && { idempotency_key: key, caller: caller ?? 'c'.repeat(64) }),
    ...(mode !== undefined && { mode }),
    ...(approval && { approval }),
    ...(resume && { resume }),
    ...(after !== undefined && { after }),
    ...(tool !== undefined && { tool }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

function runnableOf(service: Startable): Runnable {
  if (typeof service === 'function') return { module: service, def: definitionOf(service) };
  if ('module' in service) return service;
  class Wrapped {}
  Module({ imports: [ServiceKit.forService(service)] })(Wrapped);
  return { module: Wrapped, def: service };
}

async function within(ms: number, ready: Promise<void>, log: readonly string[]): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`not ready after ${ms} ms; its log ends:\n${log.slice(-10).join('\n')}`)),
    ms,
  );
  try {
    await Promise.race([ready, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** In order, and all of them whatever one of them says. */
async function disposeAll(owned: AsyncDisposable[]): Promise<void> {
  const faults: unknown[] = [];
  for (const one of owned.splice(0)) {
    try {
      await one[Symbol.asyncDispose]();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}
