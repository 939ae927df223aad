import { conflict, failedPrecondition, notFound } from '@cortex/contracts';
import { defineDecider } from '@cortex/eventstore';

/** Version 1 of CounterIncremented had no `by`: it always meant one. */
export type CounterEvent =
  | { type: 'CounterOpened'; data: { label: string } }
  | { type: 'CounterIncremented'; data: { by: number } }
  | { type: 'CounterClosed'; data: { total: number } };

export type CounterCommand =
  { type: 'OpenCounter'; label: string } | { type: 'IncrementCounter'; by: number } | { type: 'CloseCounter' };

export type CounterState = { status: 'none' } | { status: 'open' | 'closed'; total: number };

/** For everybody who reads these events: the newest version of each, and how an older one is read. */
export const counterVersions = {
  version: { CounterIncremented: 2 },
  upcast: { CounterIncremented: { 1: () => ({ by: 1 }) } },
};

/** The sample aggregate by which the event store is proven: it owns no product rule. */
export const counter = defineDecider<CounterCommand, CounterEvent, CounterState>({
  subject: 'ticket.counter',
  initial: { status: 'none' },
  ...counterVersions,
  snapshotEvery: 10,
  decide(command, state) {
    switch (command.type) {
      case 'OpenCounter':
        if (state.status !== 'none') throw conflict('counter_id', 'is taken', 'open one with a new id');
        return [{ type: 'CounterOpened', data: { label: command.label } }];
      case 'IncrementCounter': {
        if (state.status === 'closed') throw failedPrecondition('counter_id', 'is closed', 'open another one');
        // An increment opens what is not there yet: two events, one commit.
        const opened: CounterEvent[] = state.status === 'none' ? [{ type: 'CounterOpened', data: { label: '' } }] : [];
        return [...opened, { type: 'CounterIncremented', data: { by: command.by } }];
      }
      case 'CloseCounter':
        if (state.status === 'none') throw notFound('counter_id', 'is unknown', 'increment it first');
        return state.status === 'closed' ? [] : [{ type: 'CounterClosed', data: { total: state.total } }];
    }
  },
  evolve(state, event) {
    switch (event.type) {
      case 'CounterOpened':
        return { status: 'open', total: 0 };
      case 'CounterIncremented':
        return { status: 'open', total: (state.status === 'none' ? 0 : state.total) + event.data.by };
      case 'CounterClosed':
        return { status: 'closed', total: event.data.total };
    }
  },
});
