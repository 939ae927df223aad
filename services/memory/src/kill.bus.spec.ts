import { randomUUID } from 'node:crypto';
import type { Bus } from '@cortex/bus';
import { subjects, type BusRequest, type ToolReplyHead } from '@cortex/contracts';
import { eventually, natsFixture, postgresFixture, runSource, startService, testHome } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { MemoryModule, memoryService } from './memory.module.js';
import { factEvents } from './testing/lab.js';

/** One proposal as the edge sends it, under a key; undefined when no answer came. */
async function propose(edge: Bus, topic: string, key: string): Promise<string | undefined> {
  const request: BusRequest = {
    v: 1,
    call_id: randomUUID(),
    workspace_id: 'w1',
    principal: { type: 'user', id: 'per_1', roles: [] },
    scope: {},
    args: { domain: 'kills', topic, content: `What is known of ${topic}`, confidence: 0 },
    deadline_ms: 2_000,
    idempotency_key: key,
    caller: 'c'.repeat(64),
  };
  try {
    const reply = await edge.request(subjects.tool('memory', 'propose_fact'), JSON.stringify(request), {
      timeoutMs: 2_000,
    });
    const [head, body] = reply.string().split('\n', 2) as [string, string];
    if (!(JSON.parse(head) as ToolReplyHead).ok) return undefined;
    return (JSON.parse(`{${body}}`) as { structuredContent: { fact_id: string } }).structuredContent.fact_id;
  } catch {
    return undefined;
  }
}

it('P87 kill -9 between commit and answer: what is sent again is one fact, one mention, and none is lost', async () => {
  await using nats = await natsFixture({ services: [memoryService] });
  await using postgres = await postgresFixture([memoryService]);
  await using home = await testHome({
    bus: (user) => nats.passwordOf(user),
    database: (role) => postgres.passwordOf(role),
  });
  const edge = await nats.busAs('mcp-edge');
  await using victim = runSource(new URL('main.ts', import.meta.url), {
    CORTEX_HOME: home.dir,
    CORTEX_NATS_URL: nats.url,
    CORTEX_DATABASE_URL: postgres.url,
    CORTEX_OPS_PORT: '0',
  });
  await eventually(() => victim.messages.length === 2, 60_000);

  /** By key: the topic, and the fact that was answered. */
  const sent = new Map<string, { topic: string; fact_id?: string }>();
  const alive = () => victim.child.exitCode === null && victim.child.signalCode === null;
  const sender = async (shared: boolean) => {
    while (alive()) {
      const key = `k${sent.size}`;
      const topic = shared ? 'shared' : key;
      sent.set(key, { topic });
      const fact_id = await propose(edge, topic, key);
      if (fact_id !== undefined) sent.set(key, { topic, fact_id });
    }
  };
  const answered = () => [...sent.values()].filter(({ fact_id }) => fact_id !== undefined).length;
  const load = [sender(true), sender(true), sender(false), sender(false), sender(false)];
  await eventually(() => answered() > 25, 60_000);
  victim.child.kill('SIGKILL');
  await Promise.all(load);
  expect(answered()).toBeLessThan(sent.size);

  await using app = await startService(MemoryModule, { nats, postgres });
  for (const [key, { topic, fact_id }] of sent) {
    const again = await eventually(async () => (await propose(edge, topic, key)) ?? false);
    expect(again).toBe(fact_id ?? again);
  }
  const events = await factEvents(app);
  const topics = events.flatMap((event) => (event.type === 'MemoryFactRecorded' ? event.data.fact.topic : []));
  expect(topics.sort()).toEqual([...new Set([...sent.values()].map(({ topic }) => topic))].sort());
  const mentions = events.filter((event) => event.type === 'MemoryFactReasserted');
  const shared = [...sent.values()].filter(({ topic }) => topic === 'shared');
  expect(mentions).toHaveLength(shared.length - 1);
});
