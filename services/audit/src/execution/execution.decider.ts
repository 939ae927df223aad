import type { ExecutionEvent } from '@cortex/contracts/execution';
import { defineDecider } from '@cortex/eventstore';

type Data<Type extends ExecutionEvent['type']> = Extract<ExecutionEvent, { type: Type }>['data'];
export type Started = Data<'ExecutionStarted'>;
/** How a run ended, as whoever ran it says; `stale` of one that nobody could say it of. */
export type Ending =
  | { outcome: 'completed'; data: Data<'ExecutionCompleted'> }
  | { outcome: 'failed'; data: Data<'ExecutionFailed'> }
  | { outcome: 'cancelled'; data: Data<'ExecutionCancelled'> }
  | { outcome: 'stale'; data: Data<'ExecutionMarkedStale'> };

export type ExecutionCommand =
  | { type: 'StartExecution'; started: Started }
  /** `started` is what is known of the start, should the end be told of first. */
  | { type: 'FinishExecution'; started: Started; ending: Ending }
  | { type: 'MarkStale'; execution_id: string };

interface State {
  status: 'none' | 'running' | 'final';
}

const endOf = (ending: Ending): ExecutionEvent => {
  switch (ending.outcome) {
    case 'completed':
      return { type: 'ExecutionCompleted', data: ending.data };
    case 'failed':
      return { type: 'ExecutionFailed', data: ending.data };
    case 'cancelled':
      return { type: 'ExecutionCancelled', data: ending.data };
    case 'stale':
      return { type: 'ExecutionMarkedStale', data: ending.data };
  }
};

/** One run of an agent. It starts once and ends once, in whichever order the two are told; the first end stands. */
export const execution = defineDecider<ExecutionCommand, ExecutionEvent, State>({
  subject: 'audit.execution',
  initial: { status: 'none' },
  // What an agent printed last may hold what it was shown.
  descriptive: ['final_output'],
  decide(command, { status }) {
    switch (command.type) {
      case 'StartExecution':
        return status === 'none' ? [{ type: 'ExecutionStarted', data: command.started }] : [];
      case 'FinishExecution': {
        if (status === 'final') return [];
        const start: ExecutionEvent[] = status === 'none' ? [{ type: 'ExecutionStarted', data: command.started }] : [];
        return [...start, endOf(command.ending)];
      }
      case 'MarkStale':
        if (status !== 'running') return [];
        return [{ type: 'ExecutionMarkedStale', data: { execution_id: command.execution_id } }];
    }
  },
  evolve(_state, { type }) {
    switch (type) {
      case 'ExecutionStarted':
        return { status: 'running' };
      case 'ExecutionCompleted':
      case 'ExecutionFailed':
      case 'ExecutionCancelled':
      case 'ExecutionMarkedStale':
        return { status: 'final' };
    }
  },
});
