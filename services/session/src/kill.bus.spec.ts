import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import type { BusRequest } from '@cortex/contracts';
import { eventually, natsFixture, postgresFixture, runSource, testHome } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { sessionService } from './session.module.js';
import { around } from './testing/around.js';
import { ALL_SCOPES, lab } from './testing/lab.js';

const request = (args: Record<string, unknown>, key: string): BusRequest => ({
  v: 1,
  call_id: randomUUID(),
  workspace_id: 'w1',
  principal: { type: 'system', id: 'spec', roles: [] },
  scope: {},
  args,
  deadline_ms: 2_000,
  idempotency_key: key,
  caller: 'c'.repeat(64),
});
const open = async (bus: Bus, key: string) => {
  const args = { person_id: 'per_1', scopes: ALL_SCOPES, workspace_id: 'w1', project: key };
  const { data } = await ask(bus, 'cortex.cmd.session.open_session', request(args, key));
  return (data as { session_id: string }).session_id;
};
const deliver = async (bus: Bus, channel: string, n: string) => {
  const args = { channel, text: `message ${n}`, tag: n, origin: 'external-signal' };
  // Another call each time: what makes it one message is its tag.
  const { data } = await ask(bus, 'cortex.cmd.session.deliver', request(args, randomUUID()));
  return (data as { message_id: string }).message_id;
};

it('P87 kill -9 between commit and answer: what is sent again is the same session and the same message, and none is lost', async () => {
  await using nats = await natsFixture({ services: [sessionService] });
  await using postgres = await postgresFixture([sessionService]);
  await using home = await testHome({
    bus: (user) => nats.passwordOf(user),
    database: (role) => postgres.passwordOf(role),
  });
  const neighbours = await around(nats);
  const [cli, waitpoint] = [await nats.busAs('provision'), await nats.busAs('waitpoint')];
  await using victim = runSource(new URL('main.ts', import.meta.url), {
    CORTEX_HOME: home.dir,
    CORTEX_NATS_URL: nats.url,
    CORTEX_DATABASE_URL: postgres.url,
    CORTEX_OPS_PORT: '0',
  });
  await eventually(() => victim.messages.length === 2, 60_000);

  const opened = new Map<string, string>();
  const delivered = new Map<string, string>();
  const keys: string[] = [];
  const numbers: string[] = [];
  const alive = () => victim.child.exitCode === null && victim.child.signalCode === null;
  const opener = async () => {
    while (alive()) {
      const key = `k${keys.length}`;
      keys.push(key);
      await open(cli, key).then(
        (id) => void opened.set(key, id),
        () => undefined,
      );
    }
  };
  const sender = async () => {
    while (alive()) {
      const n = `m${numbers.length}`;
      numbers.push(n);
      await deliver(waitpoint, 'slack:kill', n).then(
        (id) => void delivered.set(n, id),
        () => undefined,
      );
    }
  };
  const load = [opener(), opener(), opener(), opener(), sender(), sender(), sender(), sender()];
  await eventually(() => opened.size > 15 && delivered.size > 15, 60_000);
  victim.child.kill('SIGKILL');
  await Promise.all(load);
  expect(opened.size + delivered.size).toBeLessThan(keys.length + numbers.length);
  await neighbours[Symbol.asyncDispose]();

  await using t = await lab({ nats, postgres });
  for (const key of keys) {
    const again = await eventually(() => open(cli, key));
    expect(again).toBe(opened.get(key) ?? again);
  }
  for (const n of numbers) {
    const again = await eventually(() => deliver(waitpoint, 'slack:kill', n));
    expect(again).toBe(delivered.get(n) ?? again);
  }
  const events = await t.events();
  const starts = events.flatMap((event) => (event.type === 'SessionStarted' ? [event.data.project] : []));
  expect(starts.filter((project) => project.startsWith('k')).toSorted()).toEqual(keys.toSorted());
  const tags = events.flatMap((event) => (event.type === 'MessageDelivered' ? [String(event.data.tag)] : []));
  expect(tags.toSorted()).toEqual(numbers.toSorted());
  expect(new Set(events.filter(({ type }) => type === 'MessageDelivered').map(({ id }) => id)).size).toBe(1);
  await Promise.all([cli.close(), waitpoint.close()]);
});
