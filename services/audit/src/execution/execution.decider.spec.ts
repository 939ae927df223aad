import { expect, it } from '@jest/globals';
import type { ExecutionEvent } from '@cortex/contracts/execution';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { execution, type Ending, type ExecutionCommand, type Started } from './execution.decider.js';

const given = specFor(execution);
const execution_id = 'exec_local_0_a';
const start: Started = {
  execution_id,
  run_id: null,
  kind: 'local',
  project: 'arm',
  backend: 'claude',
  billing_mode: null,
  session_id: 's1',
  owner_session_id: null,
  person_id: 'per_1',
  trigger: 'cli',
  label: 'cli',
  schedule_task_id: null,
  started_at: '2026-01-05T10:00:00.000Z',
};
const figures = { execution_id, cost_usd: null, num_turns: 2, duration_s: 1.5, final_output: 'done' };
const completed: Ending = { outcome: 'completed', data: figures };
const finish = (ending: Ending): ExecutionCommand => ({ type: 'FinishExecution', started: start, ending });
const begin: ExecutionCommand = { type: 'StartExecution', started: start };
const stale: ExecutionCommand = { type: 'MarkStale', execution_id };

const wasStarted: ExecutionEvent = { type: 'ExecutionStarted', data: start };
const wasCompleted: ExecutionEvent = { type: 'ExecutionCompleted', data: figures };
const wasStale: ExecutionEvent = { type: 'ExecutionMarkedStale', data: { execution_id } };

it('starts once', () => {
  given().when(begin).then(wasStarted);
  given(wasStarted).when(begin).thenNothing();
});
it('ends once, and the first end stands', () => {
  given(wasStarted).when(finish(completed)).then(wasCompleted);
  given(wasStarted, wasCompleted).when(finish(completed)).thenNothing();
  const cancelled: Ending = { outcome: 'cancelled', data: { execution_id, by: 'per_1' } };
  given(wasStarted, wasCompleted).when(finish(cancelled)).thenNothing();
  given(wasStarted, wasStale).when(finish(completed)).thenNothing();
});
it('records both when the end comes first, and nothing when the start follows', () => {
  given().when(finish(completed)).then(wasStarted, wasCompleted);
  given(wasStarted, wasCompleted).when(begin).thenNothing();
});
it('becomes stale only while it runs', () => {
  given(wasStarted).when(stale).then(wasStale);
  given(wasStarted, wasCompleted).when(stale).thenNothing();
  given(wasStarted, wasStale).when(stale).thenNothing();
  given().when(stale).thenNothing();
});
it('folds what was stored by this release to what it says', () => {
  const final = { status: 'final' };
  expect(foldHistories(execution, new URL('history/', import.meta.url))).toEqual({
    '0001-completed.json': final,
    '0002-failed.json': final,
    '0003-cancelled.json': final,
    '0004-stale.json': final,
    '0005-running.json': { status: 'running' },
  });
});
