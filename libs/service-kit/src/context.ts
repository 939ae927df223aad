import type { Logger } from 'pino';
import type { BusRequest, CallScope, Principal } from '@cortex/contracts';
import type { Decider, EventShape, Projection } from '@cortex/eventstore';
import type { Type } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { Waiting } from './tool.js';

/** All of the world that reaches a handler, but for its own adapters (`get`). */
export interface ToolContext {
  /** ISO 8601 with milliseconds; one time per call, and the `at` of its commits. */
  now(): string;
  /**
   * A new id, `<prefix>_<uuid>` or a bare UUID. The same call asked again (resumed, or with the same idempotency key) gets
   * the same ids in the same order, so that a repeat meets what its first try made.
   */
  newId(prefix?: string): string;
  readonly caller: Principal;
  readonly scope: CallScope;
  readonly workspace: string | null;
  readonly call_id: string;
  readonly mode: string | undefined;
  /** True when the edge asks again after `wait`. */
  readonly resume: boolean;
  readonly approval: BusRequest['approval'];
  /** Aborts with a CortexError: `cancelled`, or `deadline_exceeded`. */
  readonly signal: AbortSignal;
  /** Milliseconds left until the caller stops waiting. */
  readonly deadline_ms: number;
  /**
   * Decides the command on the aggregate's state and commits what comes of it. `workspace` is the call's unless another
   * one is named; null for what belongs to none. `scope` is the session and project that the commit is marked with, where
   * these are not the caller's own. `events` are what was recorded: none when there was nothing new, and those
   * of the first try when this commit is a repeat that the log knows.
   */
  execute<Command, Event extends EventShape, State>(
    decider: Decider<Command, Event, State>,
    id: string,
    command: Command,
    options?: { workspace?: string | null; scope?: Pick<CallScope, 'session_id' | 'project'> },
  ): Promise<{ seq: number; events: readonly Event[] }>;
  /** The aggregate's state as the log has it now. */
  load<Command, Event extends EventShape, State>(
    decider: Decider<Command, Event, State>,
    id: string,
    options?: { workspace?: string | null },
  ): Promise<{ state: State; seq: number }>;
  /**
   * This workspace's rows of the service's own tables, the caller's last write among them, and what was committed up to the
   * sequence `after`, such as that of a `load`. When the view is more than 2 s behind, the answer says so in
   * `_meta["cortex/stale"]`.
   */
  read<Event extends EventShape, Db>(projection: Projection<Event, Db>, after?: number): Promise<Kysely<Db>>;
  /** Another service's query or command, under the caller's name and within the call's deadline. */
  ask<T = unknown>(subject: string, args: Record<string, unknown>): Promise<T>;
  /** Ends this try; the edge asks again at the first event on `subject` after sequence `after`, and at `until`. */
  wait(until: { subject: string; after: number; until: string; poll_ms?: number }): Waiting;
  readonly log: Logger;
  /** A Nest provider of the service: its adapters, its `CONFIG`. */
  get<T>(provider: Type<T> | symbol | string): T;
}
