import { expect, it } from '@jest/globals';
import type { CostEvent } from '@cortex/contracts/cost';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { cost, costId } from './cost.decider.js';

const given = specFor(cost);
const entry = (entry_id: string, cost_usd: number): CostEvent['data'] => ({
  entry_id,
  timestamp: '2026-01-05T10:00:00.000Z',
  project: 'arm',
  trigger: 'cli',
  cost_usd,
  num_turns: 1,
  duration_s: 2,
  backend: 'claude',
  mode: 'api',
  source: 'gateway',
  input_tokens: 1,
  output_tokens: 2,
  cache_read_tokens: 0,
  cache_creation_tokens: 0,
  provider: 'anthropic',
  model: 'claude-sonnet-4-5',
  session_id: 's1',
  owner_session_id: null,
  execution_id: 'exec_local_0_a',
});
const recorded: CostEvent = { type: 'CostRecorded', data: entry('cost_1', 1) };

it('records spending', () =>
  given()
    .when({ type: 'RecordCost', entry: entry('cost_1', 1) })
    .then(recorded));
it('records nothing under a key that was counted, whatever the amount says now', () =>
  given(recorded)
    .when({ type: 'RecordCost', entry: entry('cost_2', 9) })
    .thenNothing());
it('has one id per session and key, whatever characters stand in the key', () => {
  const ids = [costId('s1', 'k'), costId('s2', 'k'), costId('s1', 'k2'), costId('s1', '/ü*>. ')];
  expect(new Set(ids).size).toBe(4);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
});
it('folds what was stored by this release to what it says', () => {
  expect(foldHistories(cost, new URL('history/', import.meta.url))).toEqual({
    '0001-recorded.json': { status: 'recorded', entry_id: 'cost_1', cost_usd: 0.0125 },
  });
});
