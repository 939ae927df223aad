import type { Actor } from '@cortex/contracts';
import type { Migration } from 'kysely/migration';
import type { Transaction } from 'kysely';
import type { LogMessage } from './commit.js';
import { assertVersions, type EventShape, type EventVersions } from './decider.js';

/** What a projection or reactor gets with every event, from the commit's envelope. */
export interface Recorded {
  /** ISO 8601 of the commit. */
  at: string;
  actor: Actor;
  /** `_` for what belongs to no workspace: such rows are seen by `NO_WORKSPACE` readers. */
  workspace: string;
  version: number;
  /** Stream sequence of the commit. */
  seq: number;
  commit_id: string;
  subject: string;
  /** Last token of the subject: the aggregate's id. */
  id: string;
  /** 0 for the first event of its commit. */
  index: number;
  session_id?: string;
  project?: string;
  correlation_id?: string;
  causation_id?: string;
  traceparent?: string;
}

export type Of<Event extends EventShape, Type extends Event['type']> = Extract<Event, { type: Type }> & Recorded;

export type ProjectionHandlers<Event extends EventShape, Db> = {
  [Type in Event['type']]?: (event: Of<Event, Type>, tx: Transaction<Db>) => unknown;
};

export interface ProjectionSpec<Event extends EventShape, Db> extends EventVersions {
  /** Durable consumer and checkpoint; a new shape is a `_v2` beside it. */
  name: string;
  /** Of the log: `cortex.evt.<context>.*.<aggregate>.*`, or `cortex.call.>` for the call records. */
  subject: string;
  /** The tables that this projection alone writes. */
  tables: readonly (keyof Db & string)[];
  /** Facts: a handler never rejects one, it skips, clamps or defaults. Only broken infrastructure throws. */
  on: ProjectionHandlers<Event, Db>;
  /** See `defineProof`. */
  proof?: ProofHandler<Db>;
}

/** All messages of a batch that are above the checkpoint, in order. Each statement may wait for the one before. */
export type ProofHandler<Db> = (messages: readonly LogMessage[], tx: Transaction<Db>) => Promise<void>;

// A list of projections holds ones of many events: only `any` takes each of them.
// oxlint-disable-next-line typescript/no-explicit-any
export type Projection<Event extends EventShape = any, Db = any> = Readonly<ProjectionSpec<Event, Db>>;

const NAME = /^[a-z][a-z0-9_]{0,47}$/;

/** Declares a view: which events, which tables, and what each event does to them. Checked when the module is loaded. */
export function defineProjection<Event extends EventShape, Db>(spec: ProjectionSpec<Event, Db>): Projection<Event, Db> {
  assertConsumer('projection', spec);
  assertVersions(spec.name, spec);
  return Object.freeze({ ...spec });
}

/**
 * What is written down about the messages themselves, whatever is in them: bytes and sequences, not events. It is no view: made anew
 * from a log that somebody changed it would agree with the change. So it is never rebuilt, and where its database has lost a part, it
 * goes on from what that still has.
 */
export function defineProof<Db>(
  spec: Pick<ProjectionSpec<EventShape, Db>, 'name' | 'subject' | 'tables'> & { proof: ProofHandler<Db> },
): Projection<EventShape, Db> {
  assertConsumer('proof', spec);
  return Object.freeze({ ...spec, on: {} });
}

/** A name that is a consumer, a checkpoint and part of a permission; a subject that one 2.9 filter can express. */
export function assertConsumer(what: string, { name, subject }: { name: string; subject: string }): void {
  if (!NAME.test(name))
    throw new Error(`${what} "${name}" is no name; use 1 to 48 of a-z 0-9 _, beginning with a letter`);
  if (!/^cortex\.(evt|call)\./.test(subject) || /\s/.test(subject) || /[^.][*>]|[*>][^.]/.test(subject)) {
    throw new Error(`${what} ${name}: subject "${subject}" is not of the log; use cortex.evt.… or cortex.call.…`);
  }
}

/** Kysely migrations by name: `{ '0001_init': { up(db) } }`; run in the order of their names, in the service's schema. */
export type Migrations = Readonly<Record<string, Migration>>;
export const defineMigrations = (migrations: Migrations): Migrations => migrations;
