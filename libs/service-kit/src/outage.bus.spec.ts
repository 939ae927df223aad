import { isCortexError } from '@cortex/contracts';
import {
  counterGet,
  counterIncrement,
  counterService,
  counters,
  eventually,
  natsFixture,
  ownPostgres,
  startService,
} from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineService } from './service.js';

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'was answered',
    (error: unknown) => (isCortexError(error) ? error.kind : error),
  );

it('while PostgreSQL is away a read is unavailable at once and a command works; afterwards all is there', async () => {
  await using postgres = await ownPostgres([counterService]);
  await using nats = await natsFixture({ services: [counterService] });
  await using app = await startService(counterService, { nats, postgres });
  await app.call(counterIncrement, { counter_id: 'c' });
  expect(await app.call(counterGet, { counter_id: 'c' })).toEqual({ total: 1, commits: 1 });

  await postgres.kill();
  const started = performance.now();
  expect(await refusal(app.call(counterGet, { counter_id: 'c' }))).toBe('unavailable');
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(await app.call(counterIncrement, { counter_id: 'c' })).toEqual({ counter_id: 'c', total: 2 });
  expect((await fetch(`${app.opsUrl}/ready`)).status).toBe(503);

  await postgres.start();
  await eventually(async () => {
    expect(await app.call(counterGet, { counter_id: 'c' })).toEqual({ total: 2, commits: 2 });
  });
  await eventually(async () => (await fetch(`${app.opsUrl}/ready`)).status === 200);
});

it('starts without PostgreSQL and is ready when it comes', async () => {
  await using postgres = await ownPostgres([counterService]);
  await postgres.kill();
  await using nats = await natsFixture({ services: [counterService] });
  await using app = await startService(counterService, { nats, postgres, ready: false });
  await eventually(async () => {
    const { checks } = (await (await fetch(`${app.opsUrl}/ready`)).json()) as { checks: Record<string, object> };
    expect(checks['ticket.database']).toEqual({ ok: false, problem: 'PostgreSQL does not answer (ECONNREFUSED)' });
  });
  await postgres.start();
  await app.host.ready;
  expect(await app.call(counterIncrement, { counter_id: 'c' })).toMatchObject({ total: 1 });
});

it('a stop while NATS is away takes no longer than it must', async () => {
  await using nats = await natsFixture({ services: [counterService] });
  await using app = await startService(counterService, { nats });
  await nats.kill();
  const started = performance.now();
  await app.stop();
  expect(performance.now() - started).toBeLessThan(20_000);
});

it('several services share a process, each with its own bus user, schema and readiness', async () => {
  const review = defineService({ name: 'review', config: z.object({}), tools: [] });
  await using app = await startService(counterService, { beside: [review] });
  const report = await app.host.health.report();
  expect(Object.keys(report.checks)).toEqual(expect.arrayContaining(['ticket.bus', 'review.bus', 'review.database']));
  expect(report.ready).toBe(true);
  const lines = app.log.map((line) => JSON.parse(line) as { msg: string; service?: string });
  expect(lines.filter(({ msg }) => msg === 'ready').map(({ service }) => service)).toEqual(
    expect.arrayContaining(['ticket', 'review']),
  );
});

it('a view that is behind answers with what it has, and says so', async () => {
  const stuck = {
    ...counters,
    on: {
      ...counters.on,
      CounterIncremented: () => {
        throw new Error('cannot be applied');
      },
    },
  };
  await using app = await startService(defineService({ ...counterService, projections: [stuck] }));
  await app.call(counterIncrement, { counter_id: 'c' });
  const { head, body } = await app.send('counter_get', { counter_id: 'c' });
  expect(head).toMatchObject({ ok: true, meta: { 'cortex/stale': true } });
  expect(body).toContain('"structuredContent":{"total":0,"commits":0}');
  // Who has written nothing waits for nothing.
  expect((await app.send('counter_get', { counter_id: 'c' }, { after: 0 })).head).toEqual({ ok: true });
  const text = await (await fetch(`${app.opsUrl}/metrics`)).text();
  expect(text).toContain('cortex_projection_pending{service="ticket",projection="sample_counters_v1"} 1');
});
