import { randomUUID } from 'node:crypto';
import { ask, type Bus } from '@cortex/bus';
import type { BusRequest } from '@cortex/contracts';
import { eventually, natsFixture, postgresFixture, runSource, testHome, writeSession } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { billingService } from './billing.module.js';
import type { Recorded } from './cost/spending.js';
import { startBilling } from './testing/billing.js';

const request = (key: string, deadline_ms: number): BusRequest => ({
  v: 1,
  call_id: randomUUID(),
  workspace_id: 'w1',
  principal: { type: 'agent', id: 's1', roles: [] },
  scope: { session_id: 's1' },
  args: { sessionId: 's1', key, backend: 'claude', model: 'm', input_tokens: 0, output_tokens: 0, cost_usd: 0.01 },
  deadline_ms,
});
const use = async (bus: Bus, key: string, deadlineMs: number) =>
  (await ask(bus, 'cortex.cmd.billing.record_usage', request(key, deadlineMs))).data as Recorded;

it('P87 kill -9 between commit and answer: what is sent again counts once, and nothing that was answered is lost', async () => {
  await using nats = await natsFixture({ services: [billingService] });
  await using postgres = await postgresFixture([billingService]);
  await using home = await testHome({
    bus: (user) => nats.passwordOf(user),
    database: (role) => postgres.passwordOf(role),
  });
  await writeSession(await nats.busAs('session'), 's1');
  const bus = await nats.busAs('mcp-edge');
  await using victim = runSource(new URL('main.ts', import.meta.url), {
    CORTEX_HOME: home.dir,
    CORTEX_NATS_URL: nats.url,
    CORTEX_DATABASE_URL: postgres.url,
    CORTEX_OPS_PORT: '0',
  });
  await eventually(() => victim.messages.length === 2, 60_000);

  const answered = new Map<string, Recorded>();
  const keys: string[] = [];
  const sender = async () => {
    while (victim.child.exitCode === null && victim.child.signalCode === null) {
      const key = `k${keys.length}`;
      keys.push(key);
      await use(bus, key, 2_000).then(
        (answer) => void answered.set(key, answer),
        () => undefined,
      );
    }
  };
  const senders = Array.from({ length: 8 }, sender);
  await eventually(() => answered.size > 30, 60_000);
  victim.child.kill('SIGKILL');
  await Promise.all(senders);
  const unanswered = keys.filter((key) => !answered.has(key));
  expect(unanswered).not.toEqual([]);

  await using billing = await startBilling({ nats, postgres });
  const again = async (key: string) => [key, await use(bus, key, 30_000)] as const;
  for (const [key, answer] of await Promise.all(keys.map(again))) {
    expect(answer).toEqual({ recorded: answered.has(key) ? false : expect.any(Boolean), cost_usd: 0.01 });
  }
  await eventually(async () => {
    const { month, entry_count } = await billing.query();
    expect([entry_count, month.total]).toEqual([keys.length, keys.length / 100]);
  });
});
