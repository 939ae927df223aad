import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Bus, KvBucket } from '@cortex/bus';
import { BUCKETS } from '@cortex/contracts';
import { eventually, natsFixture, type NatsFixture, postgresFixture, type PostgresFixture } from '@cortex/testing';
import { mcpEdgeService } from '../mcp-edge.module.js';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const toolOf = (id: string) => (name: string) => ({ name, scope: `mcp:${id}:use`, description: `Does ${name}.` });
const away = (backend: TestBackend) => (backend.answers['list_tools'] = (_asked, res) => json(res, 503, {}));
const back = (backend: TestBackend) => (backend.answers['list_tools'] = () => ({ tools: backend.tools }));

let nats: NatsFixture;
let postgres: PostgresFixture;
let bus: Bus;
let bucket: KvBucket;
let first: TestBackend;
let second: TestBackend;
/** Of this test alone: the log of the others knows other backends. */
let ids: readonly [string, string];
let count = 0;

beforeAll(async () => {
  nats = await natsFixture({ services: [mcpEdgeService] });
  postgres = await postgresFixture([mcpEdgeService]);
  bus = await nats.busAs('mcp-edge');
  bucket = bus.kv(BUCKETS.catalog.name);
});
afterAll(async () => {
  await bus.close();
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});
beforeEach(async () => {
  count++;
  ids = [`first${count}`, `second${count}`];
  first = await testBackend();
  second = await testBackend([toolOf(ids[1])('lamp')]);
});
afterEach(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});

/** An edge to which both backends give their tools under one prefix; `first` stands before `second`. */
const start = (more: Record<string, string> = {}, backends = { [ids[0]]: first, [ids[1]]: second }) =>
  startEdge({
    nats,
    postgres,
    beside: [],
    env: backendEnv(backends, {
      ...Object.fromEntries(ids.map((id) => [`CORTEX_BACKEND_${id.toUpperCase()}_PREFIX`, 'home_'])),
      ...more,
    }),
  });
/** Exposed names by backend and original. */
const names = async ({ edge }: EdgeFixture): Promise<Record<string, string>> => {
  await eventually(() => edge.federation.complete);
  const { tools } = edge.federation.current;
  return Object.fromEntries(tools.map(({ backend, original, exposed }) => [`${backend.id}/${original}`, exposed]));
};
const keptOf = (id: string) =>
  eventually(async () => {
    const entry = await bucket.get(`names.${id}`);
    if (entry === null) throw new Error(`nothing is kept of ${id}`);
    return entry.json<{ tool: unknown[] }>().tool;
  });

/** `second` holds `home_lamp`, then `first` comes with a lamp of its own. */
async function contested(at: EdgeFixture): Promise<Record<string, string>> {
  await names(at);
  first.tools = [toolOf(ids[0])('lamp')];
  await at.edge.federation.refresh();
  return names(at);
}

it('P45 a restart renames nothing: whoever held a name holds it, although another stands before it', async () => {
  await using before = await start();
  const held = await contested(before);
  expect(held).toEqual({ [`${ids[0]}/lamp`]: `${ids[0]}_lamp`, [`${ids[1]}/lamp`]: 'home_lamp' });
  await eventually(async () => expect(await keptOf(ids[0])).toEqual([['lamp', `${ids[0]}_lamp`]]));
  expect(await keptOf(ids[1])).toEqual(['lamp']);
  await before[Symbol.asyncDispose]();
  await using after = await start();
  expect(await names(after)).toEqual(held);
});

it('nor does one while the holder is away, and the name is free when it answers without the item', async () => {
  await using before = await start();
  await contested(before);
  await keptOf(ids[0]);
  await before[Symbol.asyncDispose]();

  away(second);
  await using after = await start();
  expect(await names(after)).toEqual({ [`${ids[0]}/lamp`]: `${ids[0]}_lamp` });
  expect(
    (await after.call('home_lamp', {}, { token: await after.token({ scope: `mcp:${ids[0]}:use` }) })).text,
  ).toContain('Unknown tool');
  back(second);
  second.tools = [toolOf(ids[1])('kettle')];
  await after.edge.federation.refresh();
  expect(await names(after)).toEqual({ [`${ids[0]}/lamp`]: 'home_lamp', [`${ids[1]}/kettle`]: 'home_kettle' });
});

it('a backend that left the configuration, or has another prefix now, holds nothing of before', async () => {
  await using before = await start();
  await contested(before);
  await keptOf(ids[0]);
  await before[Symbol.asyncDispose]();

  const alone = { [ids[0]]: first };
  await using without = await start({}, alone);
  expect(await names(without)).toEqual({ [`${ids[0]}/lamp`]: 'home_lamp' });
  await eventually(async () => expect(await bucket.get(`names.${ids[1]}`)).toBeNull());
  await without[Symbol.asyncDispose]();

  const [id] = ids;
  await using renamed = await start({ [`CORTEX_BACKEND_${id.toUpperCase()}_PREFIX`]: 'house_' });
  expect(await names(renamed)).toEqual({ [`${id}/lamp`]: 'house_lamp', [`${ids[1]}/lamp`]: 'home_lamp' });
});

it('what cannot be read of them, or was written by another release, costs the claims and no tool', async () => {
  await bucket.put(`names.${ids[0]}`, 'no JSON');
  await bucket.put(`names.${ids[1]}`, JSON.stringify({ v: 2 }));
  await using at = await start();
  expect(await names(at)).toEqual({ [`${ids[1]}/lamp`]: 'home_lamp' });
  await eventually(async () => expect(await keptOf(ids[0])).toEqual([]));
  expect(await keptOf(ids[1])).toEqual(['lamp']);
});

it('a refresh that meets nothing new writes nothing, and default prefixes need no claims at all', async () => {
  await using at = await start();
  await contested(at);
  await keptOf(ids[0]);
  const before = (await bucket.get(`names.${ids[0]}`))?.revision;
  await at.edge.federation.refresh();
  await at.edge.federation.refresh();
  expect((await bucket.get(`names.${ids[0]}`))?.revision).toBe(before);
  await at[Symbol.asyncDispose]();

  const plain = Object.fromEntries(ids.map((id) => [`CORTEX_BACKEND_${id.toUpperCase()}_PREFIX`, `${id}_`]));
  await using defaults = await start(plain);
  expect(await names(defaults)).toEqual({
    [`${ids[0]}/lamp`]: `${ids[0]}_lamp`,
    [`${ids[1]}/lamp`]: `${ids[1]}_lamp`,
  });
  expect((await bucket.get(`names.${ids[0]}`))?.revision).toBe(before);
});
