import { rebuildProjection } from '@cortex/eventstore';
import { eventually } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { billingService } from './billing.module.js';
import { Pruning } from './costlog/pruning.js';
import { startBilling } from './testing/billing.js';

const TABLES = ['cost_entries', 'spending', 'budgets', 'overspends', 'session_tree', 'memberships'];

it('P86 P87 rebuilding the views gives exactly the rows that they have, and warns of nothing again', async () => {
  await using billing = await startBilling();
  const { app } = billing;
  await billing.member('w1', 'per_1');
  await app.ask('cmd', 'set_budget', { daily_usd: 1, monthly_usd: 2, project: 'arm' });
  await app.ask('cmd', 'set_budget', { daily_usd: 1, monthly_usd: 2, project: 'gone' });
  await app.ask('cmd', 'clear_project_budget', { project: 'gone' });
  const sessions = [
    await billing.session('s1'),
    await billing.session('s2', { workspace: null, project: 'leg', parent_session_id: 's1' }),
  ];
  for (const session of sessions) {
    for (let n = 0; n < 20; n++) {
      await billing.use(
        session,
        n % 4 ? { key: `k${n}`, cost_usd: n / 10 } : { key: `k${n}`, model: 'x', input_tokens: n },
      );
      await billing.use(session, { key: `k${n}`, cost_usd: 100 });
    }
  }
  const old = { session_id: 's1', key: 'old', cost_usd: 3, input_tokens: 1, output_tokens: 1 };
  for (const timestamp of ['2020-01-01T00:00:00.000Z', '2020-06-01T00:00:00.000Z']) {
    const how = { from: 'session' as const, principal: { type: 'system' as const, id: 'turns_v1' } };
    await app.ask('cmd', 'record_cost', { ...old, key: timestamp, timestamp }, how);
  }
  await billing.end(sessions[0]!);
  await eventually(async () => (await billing.query()).entry_count === 42);
  await Promise.all([app.get(Pruning).prune(), app.get(Pruning).prune()]);
  await eventually(async () => (await billing.query()).entry_count === 40);

  const owner = app.postgres.pool();
  const rowsOf = async (table: string) => (await owner.query(`select * from billing.${table} order by 1, 2, 3`)).rows;
  const all = () => Promise.all(TABLES.map(rowsOf));
  await eventually(async () => (await rowsOf('overspends')).length === 2);
  const live = await all();
  expect(live.map((rows) => rows.length > 0)).toEqual(TABLES.map(() => true));
  const told = () => app.log.filter((line) => line.includes('is exceeded:')).length;
  const before = told();

  const bus = await app.nats.busAs('provision');
  for (const projection of billingService.projections ?? []) {
    await rebuildProjection({ bus, adminUrl: app.postgres.adminUrl, service: billingService, projection });
  }
  expect(await all()).toEqual(live);
  expect(told()).toBe(before);
});
