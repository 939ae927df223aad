import type { BusRequest, CallScope, Principal, ToolReplyHead } from '@cortex/contracts';
import type { Runnable, ServiceDefinition, ServiceHost, Tool } from '@cortex/service-kit';
import type { Type } from '@nestjs/common';
import type { z } from 'zod';
import type { NatsFixture } from './nats-fixture.js';
import type { PostgresFixture } from './postgres-fixture.js';

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
  /** Stands for the edge: the structured result, or a thrown CortexError. Remembers `last_seq` for the next call, as the edge does. */
  call<I extends z.ZodObject, O extends z.ZodObject>(
    tool: Tool<I, O>,
    args: z.input<I>,
    options?: CallOptions,
  ): Promise<z.output<O>>;
  /** The same with any name and arguments, and the whole reply. */
  send(tool: string, args: unknown, options?: CallOptions): Promise<FramedReply>;
  /** A query or command of this service, sent by `from` (who must be permitted to). */
  ask<T = unknown>(
    kind: 'query' | 'cmd',
    name: string,
    args: Record<string, unknown>,
    options?: CallOptions & { from?: 'mcp-edge' | 'provision' },
  ): Promise<T>;
  cancel(call_id: string): void;
  /** Orderly stop, as by SIGTERM; fixtures stay. */
  stop(): Promise<void>;
}

export interface StartOptions {
  env?: Record<string, string>;
  /** Other services beside it, in the same process. */
  beside?: readonly (Type | ServiceDefinition | Runnable)[];
  /** Share servers with another fixture; they then outlive this one. */
  nats?: NatsFixture;
  postgres?: PostgresFixture;
  /** Default true: resolves when it is ready and announced. */
  ready?: boolean;
}

/** Provisions a bus and a database for the service, starts it and waits until it is ready. */
export async function startService(
  service: Type | ServiceDefinition | Runnable,
  options: StartOptions = {},
): Promise<RunningService> {
  throw new Error(`no body yet ${String(service)} ${options.ready}`);
}
