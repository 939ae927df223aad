import { isCortexError, type ErrorKind } from '@cortex/contracts';
import type { Decider, EventMeta, EventShape } from '@cortex/eventstore';
import { expect } from '@jest/globals';

const META: EventMeta = {
  at: '2026-01-05T10:00:00.000Z',
  actor: { kind: 'user', id: 'per_1' },
  workspace: 'w1',
  version: 1,
};

export interface Then<Event> {
  /** Exactly these events, in this order. */
  then(...events: readonly Event[]): void;
  /** Nothing new to record. */
  thenNothing(): void;
  thenRejects(kind: ErrorKind, field?: string): void;
}

/** Given events, when a command, then events: `const given = specFor(waitpoint)`. An event may bring its own `at`. */
export function specFor<Command, Event extends EventShape, State>(decider: Decider<Command, Event, State>) {
  return (...past: readonly (Event & Partial<EventMeta>)[]) => ({
    when(command: Command): Then<Event> {
      const state = past.reduce<State>((s, event) => decider.evolve(s, { ...META, ...event }), decider.initial);
      const decide = () => decider.decide(command, state);
      return {
        // oxlint-disable-next-line unicorn/no-thenable -- it reads `given(...).when(...).then(...)`, and nobody awaits it
        then: (...events) => expect(decide()).toEqual(events),
        thenNothing: () => expect(decide()).toEqual([]),
        thenRejects(kind, field) {
          try {
            decide();
          } catch (error) {
            if (!isCortexError(error)) throw error;
            expect({ kind: error.kind, ...(field !== undefined && { field: error.field }) }).toEqual({
              kind,
              ...(field !== undefined && { field }),
            });
            return;
          }
          throw new Error(`was accepted, but should be refused with ${kind}`);
        },
      };
    },
  });
}
