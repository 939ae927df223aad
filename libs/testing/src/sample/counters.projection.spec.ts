import { expect, it } from '@jest/globals';
import { projectionFixture } from '../projection-fixture.js';
import type { CounterEvent } from './counter.decider.js';
import { counterMigrations, counters } from './counters.projection.js';

const opened: CounterEvent = { type: 'CounterOpened', data: { label: '' } };
const by = (n: number): CounterEvent => ({ type: 'CounterIncremented', data: { by: n } });

it('counts a redelivered commit once', async () => {
  await using t = await projectionFixture(counters, counterMigrations);
  await t.apply(7, opened, by(2));
  await t.apply(9, by(3));
  await t.apply(9, by(3));
  expect(await t.db.selectFrom('counters').select(['total', 'commits']).execute()).toEqual([{ total: 5, commits: 2 }]);
});

it('keeps the counters of two workspaces apart', async () => {
  await using t = await projectionFixture(counters, counterMigrations);
  await t.apply(1, { ...opened, workspace: 'w1' }, by(1));
  await t.apply(2, { ...opened, workspace: 'w2' }, by(10));
  const rows = await t.db.selectFrom('counters').select(['workspace_id', 'total']).orderBy('workspace_id').execute();
  expect(rows).toEqual([
    { workspace_id: 'w1', total: 1 },
    { workspace_id: 'w2', total: 10 },
  ]);
});
