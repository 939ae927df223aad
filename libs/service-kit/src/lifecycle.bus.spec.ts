import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  counterIncrement,
  counterMigrations,
  counterService,
  eventually,
  natsFixture,
  postgresFixture,
  runSource,
  startService,
  testHome,
  type NatsFixture,
  type PostgresFixture,
} from '@cortex/testing';
import { BUCKETS, isCortexError, type ToolAnnouncement } from '@cortex/contracts';
import { provisionBus } from '@cortex/eventstore';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineService } from './service.js';
import { defineTool } from './tool.js';

let nats: NatsFixture;
let postgres: PostgresFixture;
beforeAll(async () => {
  [nats, postgres] = await Promise.all([
    natsFixture({ services: [counterService] }),
    postgresFixture([counterService]),
  ]);
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

let release: () => void = () => {};
const slow = defineTool({
  name: 'slow',
  title: 'Slow',
  description: 'Ends when the test says so.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  async handle() {
    await new Promise<void>((resolve) => (release = resolve));
    return { done: true };
  },
});
const quick = defineTool({
  name: 'quick',
  title: 'Quick',
  description: 'Ends at once.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  input: z.object({}),
  output: z.object({}),
  handle: () => ({}),
});
const readiness = async (opsUrl: string) => {
  const response = await fetch(`${opsUrl}/ready`);
  const body = (await response.json()) as { ready: boolean; checks: Record<string, { ok: boolean; problem?: string }> };
  return { status: response.status, ...body };
};
const nodes = async () => {
  const bus = await nats.busAs('mcp-edge');
  const keys: string[] = [];
  for await (const { key } of bus.kv(BUCKETS.nodes.name).walk('>')) keys.push(key);
  return keys;
};

describe('a service without its servers', () => {
  it('P84 starts without NATS, is not ready, and is there when NATS comes', async () => {
    await using dead = await natsFixture({ services: [counterService], start: false });
    await using app = await startService(counterService, { nats: dead, postgres, ready: false });
    expect(await readiness(app.opsUrl!)).toMatchObject({
      status: 503,
      ready: false,
      checks: { 'ticket.bus': { ok: false, problem: 'NATS is not connected' } },
    });
    expect((await fetch(`${app.opsUrl}/health`)).status).toBe(200);
    await dead.restart();
    await eventually(async () => (await readiness(app.opsUrl!)).ready, 10_000);
    expect(await app.call(counterIncrement, { counter_id: 'c' })).toMatchObject({ total: 1 });
  });

  it('says so when NATS goes, and announces itself again when it is back', async () => {
    await using own = await natsFixture({ services: [counterService] });
    await using app = await startService(counterService, { nats: own, postgres });
    await own.kill();
    await eventually(async () => !(await readiness(app.opsUrl!)).ready);
    await own.restart();
    await eventually(async () => (await readiness(app.opsUrl!)).ready, 10_000);
    expect(await eventually(() => app.call(counterIncrement, { counter_id: 'again' }), 10_000)).toMatchObject({
      total: 1,
    });
  });

  it('is not ready without streams, buckets and consumers, says what to run, and needs no restart', async () => {
    await using bare = await natsFixture({ services: [counterService], provision: false });
    await using app = await startService(counterService, { nats: bare, postgres, ready: false });
    const problem = async (pattern: RegExp) =>
      eventually(async () => {
        expect((await readiness(app.opsUrl!)).checks['ticket.start']?.problem).toMatch(pattern);
      });
    await problem(/the (stream|consumer) .* is missing; run cortex provision/);
    const { nc } = await bare.busAs('provision');
    await provisionBus({ nc, services: [] });
    await problem(/^the consumer sample_counters_v1 is missing; run cortex provision/);
    await bare.provision();
    await eventually(async () => (await readiness(app.opsUrl!)).ready, 10_000);
  });

  it('is not ready while its schema is behind, and says by what', async () => {
    const newer = defineService({
      ...counterService,
      migrations: { ...counterMigrations, '0002_more': { up: () => Promise.resolve() } },
    });
    await using app = await startService(newer, { nats, postgres, ready: false });
    await eventually(async () => {
      expect((await readiness(app.opsUrl!)).checks['ticket.start']?.problem).toBe(
        'the schema ticket is behind (0002_more); run cortex provision',
      );
    });
  });
});

describe('presence', () => {
  it('tells the tools and the life of the instance, and takes the life back at an orderly stop', async () => {
    const before = await nodes();
    const app = await startService(counterService, { nats, postgres });
    const key = `ticket.${app.host.bus.instance}`;
    expect(await nodes()).toEqual([...before, key]);
    const edge = await nats.busAs('mcp-edge');
    const entry = await edge.kv(BUCKETS.tools.name).get('ticket');
    const announced = entry!.json<ToolAnnouncement>();
    expect(announced.tools.map(({ name }) => name)).toEqual(['counter_increment', 'counter_get']);
    expect(announced.tools[0]).toMatchObject({
      tier: 'write',
      workspace: 'required',
      deadline_ms: 30_000,
      input_schema: { type: 'object', required: ['workspace_id', 'counter_id'], additionalProperties: false },
    });
    await app[Symbol.asyncDispose]();
    expect(await nodes()).toEqual(before);
    expect(await edge.kv(BUCKETS.tools.name).get('ticket')).not.toBeNull();
  });

  it('renews the sign of its life', async () => {
    await using app = await startService(counterService, { nats, postgres });
    const edge = await nats.busAs('mcp-edge');
    const revision = async () => (await edge.kv(BUCKETS.nodes.name).get(`ticket.${app.host.bus.instance}`))!.revision;
    const first = await revision();
    await eventually(async () => (await revision()) > first);
  });

  it('writes an unchanged list only once', async () => {
    const edge = await nats.busAs('mcp-edge');
    const revision = async () => {
      await using _app = await startService(counterService, { nats, postgres });
      return (await edge.kv(BUCKETS.tools.name).get('ticket'))?.revision;
    };
    expect(await revision()).toBe(await revision());
  });

  it('of more tools than a message holds says how many bytes they are, and what to do', async () => {
    const described = defineService({
      ...counterService,
      describe: (tool) => ({ ...tool, description: randomBytes(1_500_000).toString('base64') }),
    });
    await using app = await startService(described, { nats, postgres, ready: false });
    const said =
      /not ready: tools of ticket have \d{7} bytes, compressed, and the bus takes 1048576 in one message; offer fewer/;
    await eventually(() => app.log.some((line) => said.test(line)));
  });

  it('announces anew what a service describes differently', async () => {
    let machines = 'none';
    const described = defineService({
      ...counterService,
      describe: (tool) => ({ ...tool, description: `${tool.description} Machines: ${machines}.` }),
    });
    await using app = await startService(described, { nats, postgres });
    machines = 'laptop';
    await app.host.announce();
    const edge = await nats.busAs('mcp-edge');
    const entry = await edge.kv(BUCKETS.tools.name).get('ticket');
    expect(entry!.json<ToolAnnouncement>().tools[0]?.description).toContain('Machines: laptop.');
  });

  it('T83 nobody can announce in the name of another service or rewrite who owns a tool', async () => {
    await using app = await startService(counterService, { nats, postgres });
    const owners = await app.host.bus.kv(BUCKETS.tools.name).get('_owners');
    expect(owners?.json()).toEqual({ counter_get: 'ticket', counter_increment: 'ticket' });
    const review = await nats.busAs('review');
    const refused = (key: string) => review.kv(BUCKETS.tools.name).put(key, '{}');
    await expect(refused('ticket')).rejects.toMatchObject({ kind: 'permission_denied' });
    await expect(refused('_owners')).rejects.toMatchObject({ kind: 'permission_denied' });
    await expect(review.kv(BUCKETS.nodes.name).put('ticket.x', '{}')).rejects.toMatchObject({
      kind: 'permission_denied',
    });
    expect(await review.kv(BUCKETS.tools.name).put('review', '{"service":"review","tools":[]}')).toBeGreaterThan(0);
  });
});

describe('a stop', () => {
  it('P84 waits for the call under way, takes no new one, and leaves the list first', async () => {
    const slowService = defineService({ name: 'review', config: z.object({}), tools: [slow, quick] });
    await using app = await startService(slowService);
    const answer = app.call(slow, {}, { deadlineMs: 20_000 });
    await eventually(() => app.host.transport.runner.inFlight.size === 1);
    const stopped = app.stop();
    const refused = await eventually(() =>
      app.call(quick, {}).then(
        () => false as const,
        (error: unknown) => error,
      ),
    );
    expect(isCortexError(refused) && refused.kind).toBe('unavailable');
    const edge = await app.nats.busAs('mcp-edge');
    expect(await edge.kv(BUCKETS.nodes.name).get(`review.${app.host.bus.instance}`)).toBeNull();
    release();
    expect(await answer).toEqual({ done: true });
    await stopped;
  });

  it('lets the service end what would hold its calls', async () => {
    const held = defineService({
      name: 'review',
      config: z.object({}),
      tools: [slow],
      stopping: () => release(),
    });
    await using app = await startService(held);
    const answer = app.call(slow, {});
    await eventually(() => app.host.transport.runner.inFlight.size === 1);
    await app.stop();
    expect(await answer).toEqual({ done: true });
  });

  it('in the middle of a start leaves nothing announced', async () => {
    for (const after of [0, 5, 10, 20, 40]) {
      const app = await startService(counterService, { nats, postgres, ready: false });
      // No condition to wait for: the stop is to meet the start at different points.
      await new Promise((resolve) => setTimeout(resolve, after));
      await app[Symbol.asyncDispose]();
    }
    expect(await nodes()).toEqual([]);
  });

  it('two instances share the calls, and one that stops loses none', async () => {
    await using one = await startService(counterService, { nats, postgres });
    await using two = await startService(counterService, { nats, postgres });
    const calls = Array.from({ length: 200 }, (_, i) => one.call(counterIncrement, { counter_id: `shared${i}` }));
    await two.stop();
    expect((await Promise.all(calls)).every(({ total }) => total === 1)).toBe(true);
  });
});

describe('a process', () => {
  const environment = async (home: string) => ({
    CORTEX_HOME: home,
    CORTEX_NATS_URL: nats.url,
    CORTEX_DATABASE_URL: postgres.url,
    CORTEX_OPS_PORT: '0',
  });
  const home = () => testHome({ bus: (user) => nats.passwordOf(user), database: (role) => postgres.passwordOf(role) });
  const main = new URL('../../testing/src/sample/main.ts', import.meta.url);

  it('P84 ends by SIGTERM with code 0, and told its parent when it was ready', async () => {
    await using place = await home();
    await using process = runSource(main, await environment(place.dir));
    await eventually(() => process.messages.length === 2, 20_000);
    expect(process.messages).toEqual([
      { cortex: 'ops', port: expect.any(Number) },
      { cortex: 'ready', services: ['ticket'] },
    ]);
    process.child.kill('SIGTERM');
    expect(await process.exit).toBe(0);
    expect(await nodes()).toEqual([]);
    for (const line of process.err.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
    // The lines of the audit trail are alone there.
    expect(process.out).toBe('');
  });

  it('ends with code 78 and names every fault when its configuration is unusable', async () => {
    await using process = runSource(main, { CORTEX_HOME: '/nonexistent' });
    expect(await process.exit).toBe(78);
    expect(process.err).toContain('CORTEX_NATS_URL is missing');
    expect(process.err).toContain('CORTEX_DATABASE_URL is missing');
    expect(process.out).toBe('');
  });

  it('says which port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    await using place = await home();
    await using process = runSource(main, { ...(await environment(place.dir)), CORTEX_OPS_PORT: String(port) });
    expect(await process.exit).toBe(78);
    expect(process.err).toContain(`CORTEX_OPS_PORT ${port} is taken; set another one`);
    other.close();
  });
});
