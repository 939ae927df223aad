import { rebuildProjection } from '@cortex/eventstore';
import { eventually, natsFixture, postgresFixture, runSource } from '@cortex/testing';
import { testHome } from '@cortex/testing/test-home';
import { expect, it } from '@jest/globals';
import { Sweeper } from './adapters/sweeper.js';
import { waitpoints } from './projections/waitpoints.projection.js';
import { sessionStandIn } from './testing/session-stand-in.js';
import { startWaiting } from './testing/waiting.js';
import { waitCancel } from './tools/wait-cancel.tool.js';
import { waitpointService } from './waitpoint.module.js';

it('killed between commit and answer: the same signal again counts once, and the wake is delivered', async () => {
  const { service } = sessionStandIn();
  await using nats = await natsFixture({ services: [waitpointService, service], ackWaitMs: 1_000 });
  await using postgres = await postgresFixture([waitpointService, service]);
  await using home = await testHome({
    bus: (user) => nats.passwordOf(user),
    database: (role) => postgres.passwordOf(role),
  });
  // No session service yet, so that nothing of what is to come is told before the kill.
  await using dying = runSource(new URL('main.ts', import.meta.url), {
    NODE_ENV: 'test',
    CORTEX_HOME: home.dir,
    CORTEX_NATS_URL: nats.url,
    CORTEX_DATABASE_URL: postgres.url,
    CORTEX_OPS_PORT: '0',
    CORTEX_WAITPOINT_SWEEP_MS: '0',
  });
  await eventually(() => dying.messages.some((message) => JSON.stringify(message).includes('"ready"')));
  const watch = await nats.busAs('provision');
  let kills = 0;
  let armed: { id: string; secret: string } | undefined;
  {
    await using other = await startWaiting({ nats, postgres, beside: [], env: { CORTEX_HOME: home.dir } });
    armed = await other.arm({ max_signals: 9 });
  }
  watch.subscribe('cortex.evt.waitpoint.>', () => {
    if (kills++ === 0) dying.child.kill('SIGKILL');
  });
  const edge = await nats.busAs('mcp-edge');
  const body = { ...pick(armed), status: 'fail', source: 'webhook', dedupe_key: 'spool:1.json' };
  const request = { v: 1, call_id: 'c1', workspace_id: null, scope: {}, args: body, deadline_ms: 5_000 };
  const principal = { type: 'system', id: 'webhook', roles: [] };
  const abort = new AbortController();
  void dying.exit.then(() => abort.abort());
  await edge
    .request('cortex.cmd.waitpoint.signal', JSON.stringify({ ...request, principal }), {
      timeoutMs: 5_000,
      signal: abort.signal,
    })
    .catch(() => undefined);
  expect(await dying.exit).toBe('SIGKILL');

  await using again = await startWaiting({ nats, postgres, env: { CORTEX_HOME: home.dir } });
  const { id, secret } = armed;
  expect((await again.signal({ id, secret, status: 'fail', dedupe_key: 'spool:1.json' })).body).toEqual({
    accepted: true,
    fired: false,
    duplicate: true,
  });
  await eventually(() => expect(again.session.of(id)).toHaveLength(1));
  await eventually(async () => expect((await again.view(id)).delivery.pending).toBe(false));
  expect((await again.events(id)).filter(({ type }) => type === 'WaitpointFired')).toHaveLength(1);
});

it('without a session service fires all the same; a restart with one delivers, and a wake sent twice is one message', async () => {
  const { service } = sessionStandIn();
  await using nats = await natsFixture({ services: [waitpointService, service] });
  await using postgres = await postgresFixture([waitpointService, service]);
  let armed: { id: string; secret: string };
  {
    await using alone = await startWaiting({ nats, postgres, beside: [] });
    armed = await alone.arm();
    expect((await alone.signal({ ...pick(armed) })).body).toEqual({ accepted: true, fired: true });
    await eventually(async () => expect((await alone.view(armed.id)).delivery).toMatchObject({ attempts: 1 }));
  }
  await postgres.pool().query('update waitpoint.agenda set wake_at = now()');
  // Its first sweep comes with its start.
  await using later = await startWaiting({ nats, postgres });
  await eventually(() => expect(later.session.of(armed.id)).toHaveLength(1));
  await eventually(async () => expect((await later.view(armed.id)).delivery.pending).toBe(false));
});

it('P86 a rebuild gives exactly the rows that are there, and wakes nobody', async () => {
  await using at = await startWaiting();
  const box = await at.arm({ max_signals: 3, members: ['a', 'b'] });
  for (const member of ['a', 'a', 'b', 'a']) await at.signal({ ...pick(box), member, status: 'ok', data: { n: 1 } });
  const one = await at.arm();
  await at.signal({ ...pick(one), status: 'progress' });
  await at.signal({ ...pick(one), status: 'fail' });
  await at.signal({ ...pick(one), secret: 'guess' });
  const dropped = await at.arm({}, 's2');
  await at.app.call(waitCancel, { id: dropped.id }, { scope: { session_id: 's2', channel: 'web:s2' } });
  const over = await at.arm({ expires_in_hours: 1e-9 });
  await at.app.get(Sweeper).sweep();
  for (const { id } of [box, one, over]) {
    await eventually(async () => expect((await at.view(id)).delivery.pending).toBe(false));
  }
  const told = at.session.state.calls;
  const pool = at.app.postgres.pool();
  const rows = async () => {
    const all = ['waitpoints order by 2', 'signals order by 2, 3', 'agenda order by 1'].map(async (table) => {
      const { rows: found } = await pool.query(`select * from waitpoint.${table}`);
      return found as unknown[];
    });
    return Promise.all(all);
  };
  const live = await rows();
  expect(live.map(({ length }) => length)).toEqual([4, 6, 4]);
  const bus = await at.app.nats.busAs('provision');
  await rebuildProjection({
    bus,
    adminUrl: at.app.postgres.adminUrl,
    service: waitpointService,
    projection: waitpoints,
  });
  expect(await rows()).toEqual(live);
  expect(at.session.state.calls).toBe(told);
});

const pick = ({ id, secret }: { id: string; secret: string }) => ({ id, secret });
