import type { Actor } from '@cortex/contracts';

export interface EventShape {
  type: string;
  data: unknown;
}

/** What `decide` returns: an event as its contract writes it. The store adds the version. */
export type NewEvent<Event extends EventShape> = Event;

/** What every reader gets beside type and data. */
export interface EventMeta {
  /** ISO 8601 of the commit. */
  at: string;
  actor: Actor;
  /** `_` for what belongs to no workspace. */
  workspace: string;
  version: number;
  /** To a decider: commits of this aggregate right before this one are gone from the log, which a damaged store does not tell. */
  gap?: true;
}

/** How old versions of events are read; deciders and projections of one event share it. */
export interface EventVersions {
  /** Newest version of an event type, default 1. A newer one in the log was written by a newer release. */
  version?: Readonly<Record<string, number>>;
  /** Per type and old version: its data in the shape of the next version. */
  upcast?: Readonly<Record<string, Readonly<Record<number, (data: never) => unknown>>>>;
}

export interface DeciderSpec<Command, Event extends EventShape, State> extends EventVersions {
  /** `<context>.<aggregate>` of `cortex.evt.<context>.<workspace>.<aggregate>.<id>`; context = the owning service. */
  subject: `${string}.${string}`;
  initial: State;
  /** Pure. Throws a CortexError to refuse; returns [] when there is nothing new to record. */
  decide(command: Command, state: State): NewEvent<Event>[];
  /**
   * Pure. Folds one event in its newest version. A switch without `default`: what it does not know gives `undefined`,
   * by which the store sees an event of a newer release and refuses to decide.
   */
  evolve(state: State, event: Event & EventMeta): State;
  /** Commits between two snapshots, default 50. */
  snapshotEvery?: number;
  /** Raise it when the shape of State changes: older snapshots are then ignored. */
  snapshotVersion?: number;
  /** More field names whose text passes the redactor when the commit is made. */
  descriptive?: readonly string[];
  /** Field names that describe elsewhere and are documents here: their text is kept as it is, whatever its length. */
  documents?: readonly string[];
}

export type Decider<Command, Event extends EventShape, State> = Readonly<DeciderSpec<Command, Event, State>>;

/** Declares an aggregate: its subject, its rules and how its events fold. Checked when the module is loaded. */
export function defineDecider<Command, Event extends EventShape, State>(
  spec: DeciderSpec<Command, Event, State>,
): Decider<Command, Event, State> {
  if (!/^[A-Za-z0-9_:-]{1,64}\.[A-Za-z0-9_:-]{1,64}$/.test(spec.subject)) {
    throw new Error(`subject "${spec.subject}" is no <context>.<aggregate>; use two tokens of A-Z a-z 0-9 _ - :`);
  }
  assertVersions(spec.subject, spec);
  return Object.freeze({ ...spec });
}

/** A version without an upcaster from each one before it could not be read: found at load, not at the first old event. */
export function assertVersions(name: string, { version = {}, upcast = {} }: EventVersions): void {
  for (const [type, newest] of Object.entries(version)) {
    for (let old = 1; old < newest; old++) {
      if (!upcast[type]?.[old])
        throw new Error(`${name}: ${type} has no upcaster from version ${old}; add upcast.${type}[${old}]`);
    }
  }
}
