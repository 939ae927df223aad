import type { Bus, Log } from '@cortex/bus';
import type { Actor } from '@cortex/contracts';
import type { Decider, EventShape } from './decider.js';
import type { SnapshotStore } from './snapshots.js';

/** Who, when and why: the part of the envelope that a command brings. */
export interface CommitContext {
  /** `Nats-Msg-Id`: the same id within two minutes gives the first commit again. */
  commitId: string;
  /** ISO 8601. */
  at: string;
  actor: Actor;
  /** Of the caller; the subject's workspace is the argument of `execute`. */
  workspace?: string | null;
  session_id?: string;
  project?: string;
  correlation_id: string;
  causation_id: string;
  traceparent?: string;
  signal?: AbortSignal;
}

export interface RecordedEvent {
  type: string;
  version: number;
  data: unknown;
}

export interface Executed {
  /** Sequence of the commit, or of the subject's last one when nothing was recorded (0: none). */
  seq: number;
  events: RecordedEvent[];
  /** The commit id was known: `events` are those of the first try. */
  duplicate: boolean;
}

export interface EventStoreOptions {
  bus: Bus;
  snapshots?: SnapshotStore;
  /** Aggregates kept in memory, default 10,000. */
  cacheSize?: number;
  /** Bytes of state kept in memory (as JSON), default 32 MiB. */
  cacheBytes?: number;
  log?: Log;
}

export class EventStore {
  constructor(readonly options: EventStoreOptions) {}

  async load<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    workspace: string | null,
    id: string,
  ): Promise<{ state: S; seq: number }> {
    throw new Error(`no body yet ${decider.subject} ${workspace} ${id}`);
  }

  async execute<C, E extends EventShape, S>(
    decider: Decider<C, E, S>,
    workspace: string | null,
    id: string,
    command: C,
    ctx: CommitContext,
  ): Promise<Executed> {
    throw new Error(`no body yet ${decider.subject} ${workspace} ${id} ${String(command)} ${ctx.commitId}`);
  }
}
