import { rebuildProjection } from '@cortex/eventstore';
import { eventually } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { sessions } from './projections/sessions.projection.js';
import { sessionService } from './session.module.js';
import { lab } from './testing/lab.js';

it('P86 a rebuild gives exactly the rows that there are, and tells audit of no run again', async () => {
  await using t = await lab();
  for (let n = 0; n < 6; n++) {
    const { session_id } = await t.open({ workspace_id: n % 2 === 0 ? 'w1' : null });
    for (let i = 0; i < n; i++) await t.deliver({ session_id, text: `message ${i}`, tag: `${i % 3}` });
    if (n % 3 === 0) await t.command('end_session', { session_id });
  }
  await eventually(() => expect(t.around.runs).toHaveLength(8));
  const owner = t.app.postgres.pool();
  const rowsOf = async (table: string, order: string) =>
    (await owner.query(`select * from session.${table} order by ${order}`)).rows;
  const all = async () => ({
    sessions: await rowsOf('sessions', 'session_id'),
    session_ids: await rowsOf('session_ids', 'session_id'),
    messages: await rowsOf('messages', 'session_id, seq'),
  });
  const settled = async () => expect((await all()).messages).toHaveLength(15);
  await eventually(settled);
  const live = await all();
  expect([live.sessions.length, live.session_ids.length]).toEqual([6, 6]);

  const bus = await t.app.nats.busAs('provision');
  await rebuildProjection({ bus, adminUrl: t.app.postgres.adminUrl, service: sessionService, projection: sessions });
  await bus.close();
  expect(await all()).toEqual(live);
  const { session_id } = await t.open();
  await eventually(() => expect(t.around.runs.at(-1)).toMatchObject({ args: { session_id } }));
  expect(t.around.runs).toHaveLength(9);
});

it('a workspace sees its own sessions and messages alone', async () => {
  await using t = await lab();
  t.around.members.set('w2', ['per_1']);
  for (const workspace_id of ['w1', 'w2', null]) {
    const { session_id } = await t.open({ workspace_id });
    await t.deliver({ session_id, text: 'x' });
  }
  const service = t.app.postgres.pool('session');
  const seen = async (table: string) => {
    const client = await service.connect();
    try {
      await client.query(`begin; select set_config('cortex.workspace', 'w1', true)`);
      const { rows } = await client.query<{ workspace_id: string }>(`select workspace_id from session.${table}`);
      return rows.map((row) => row.workspace_id);
    } finally {
      await client.query('rollback');
      client.release();
    }
  };
  for (const table of ['sessions', 'messages']) await eventually(async () => expect(await seen(table)).toEqual(['w1']));
});
