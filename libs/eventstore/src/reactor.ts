import type { Log } from '@cortex/bus';
import { assertVersions, type EventShape, type EventVersions } from './decider.js';
import { assertConsumer, type Of } from './projection.js';

export interface ReactorContext {
  /** Aborts when the runner stops; what was begun comes again. */
  signal: AbortSignal;
  /** How often this commit has been delivered, 1 for the first time. */
  delivery: number;
  log: Log;
}

export interface ReactorSpec<Event extends EventShape> extends EventVersions {
  /** Durable consumer. */
  name: string;
  subject: string;
  /** Where a new reactor begins: with what comes from its creation on (default), or with the first message of the log. */
  from?: 'now' | 'start';
  /** May be called again with the same event (same `commit_id` and `index`): be idempotent by them. */
  on: { [Type in Event['type']]?: (event: Of<Event, Type>, ctx: ReactorContext) => Promise<unknown> };
}

// oxlint-disable-next-line typescript/no-explicit-any -- a list of reactors holds ones of many events
export type Reactor<Event extends EventShape = any> = Readonly<ReactorSpec<Event>>;

/** Declares what reacts to events with effects outside (a wake, a mail, a command). Never run by a rebuild. */
export function defineReactor<Event extends EventShape>(spec: ReactorSpec<Event>): Reactor<Event> {
  assertConsumer('reactor', spec);
  assertVersions(spec.name, spec);
  return Object.freeze({ ...spec });
}
