import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BUCKETS } from '@cortex/contracts';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawClient, type RawStream } from '../testing/raw-client.js';
import { ran, sampleService, seen } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService], env: { CORTEX_SSE_KEEPALIVE_MS: '300' } });
  raw = rawClient(edge.origin, await edge.token());
});
afterAll(async () => edge[Symbol.asyncDispose]());

const rpc = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const tool = (id: unknown, name: string, args: object) => rpc(id, 'tools/call', { name, arguments: args });
const hello = (protocolVersion = '2025-11-25') =>
  rpc(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } });
const open = async () => String((await raw.ask({ body: hello() })).headers['mcp-session-id']);
const LIST_CHANGED = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

/** The sample service leaves and comes back, as far as the edge can see. */
async function flicker(): Promise<void> {
  const bus = await edge.nats.busAs('provision');
  const nodes = bus.kv(BUCKETS.nodes.name);
  // Again and again: the service says every three seconds that it lives.
  await eventually(async () => {
    for await (const { key } of nodes.walk('ticket.*')) await nodes.delete(key);
    return edge.edge.catalog.find('sample_echo')?.live === false;
  });
  await eventually(() => edge.edge.catalog.find('sample_echo')?.live === true, 10_000);
  await bus.close();
}

describe('a GET stream', () => {
  const get = (session: string | undefined, more: object = {}) =>
    raw.stream({ method: 'GET', headers: { ...(session !== undefined && { 'mcp-session-id': session }), ...more } });

  it('P09 is kept alive by comments', async () => {
    const stream = await get(await open());
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    await eventually(() => stream.text.split(': keep-alive\n\n').length > 2);
    stream.close();
  });

  it('P10 of a session is the newest one: it takes the place of one that nobody reads any more', async () => {
    const session = await open();
    const [first, second] = [await get(session), await get(session)];
    await eventually(() => first.ended);
    expect([second.status, second.ended]).toEqual([200, false]);
    second.close();
  });

  it('tells a change of the list to those whose list it changes, with a session or without', async () => {
    const streams = [await get(await open()), await get(undefined)];
    const token = await edge.token({ sub: 'noscope', scope: '' });
    const blind = await raw.stream({ method: 'GET', token });
    await flicker();
    await eventually(() => streams.every(({ events }) => events.length > 0));
    for (const { events } of streams) expect(events[0]).toEqual(LIST_CHANGED);
    expect(blind.events).toEqual([]);
    for (const stream of [...streams, blind]) stream.close();
  });

  it('ends with the token that opened it', async () => {
    const token = await edge.token({ exp: Math.floor(Date.now() / 1000) + 2 });
    const stream = await raw.stream({ method: 'GET', token });
    expect([stream.status, stream.ended]).toEqual([200, false]);
    await eventually(() => stream.ended);
  });

  it('ends with its session', async () => {
    const session = await open();
    const stream = await get(session);
    await raw.ask({ method: 'DELETE', headers: { 'mcp-session-id': session } });
    await eventually(() => stream.ended);
  });

  it('is counted while it is open', async () => {
    const count = async () => {
      const { text } = await raw.ask({ method: 'GET', path: '/metrics', headers: { accept: '*/*' } });
      return Number(/^gw_streams\{kind="get"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    await eventually(async () => (await count()) === 0);
    const stream = await get(undefined);
    expect(await count()).toBe(1);
    stream.close();
    await eventually(async () => (await count()) === 0);
  });

  it('of a call is counted while it is open', async () => {
    const session = await open();
    const posts = async () => {
      const { text } = await raw.ask({ method: 'GET', path: '/metrics', headers: { accept: '*/*' } });
      return Number(/^gw_streams\{kind="post"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const stream = await raw.stream({
      headers: { 'mcp-session-id': session, accept: 'application/json, text/event-stream' },
      body: tool(77, 'sample_slow', { ms: 3_000, mark: 'counted' }),
    });
    expect(await posts()).toBe(1);
    stream.close();
    await eventually(async () => (await posts()) === 0);
  });

  it('is nothing for clients that read none, nor for the modern era', async () => {
    for (const headers of [{ accept: 'application/json' }, { 'mcp-protocol-version': '2026-07-28' }]) {
      const answer = await raw.ask({ method: 'GET', headers });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
    }
    const modern = await raw.ask({ method: 'DELETE', headers: { 'mcp-protocol-version': '2026-07-28' } });
    expect(modern.status).toBe(405);
  });

  it('T18 is one of at most a hundred of a caller', async () => {
    const token = await edge.token({ sub: 'greedy' });
    const streams = await Promise.all(Array.from({ length: 101 }, () => raw.stream({ method: 'GET', token })));
    expect(streams.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(streams.filter(({ status }) => status === 429)).toHaveLength(1);
    for (const stream of streams) stream.close();
  });
});

describe('HTTP+SSE', () => {
  const connect = async (client = raw): Promise<{ stream: RawStream; path: string }> => {
    const stream = await client.stream({ method: 'GET', path: '/sse' });
    await eventually(() => stream.events.length > 0);
    return { stream, path: String(stream.events[0]) };
  };
  const answered = (stream: RawStream, id: unknown) =>
    eventually((): unknown => stream.events.find((event: { id?: unknown }) => event.id === id) ?? false);

  it('names the route for messages first, and answers on the stream', async () => {
    const { stream, path } = await connect();
    expect(stream.text).toMatch(/^event: endpoint\ndata: \/messages\?sessionId=[0-9a-f-]{36}\n\n/);
    const accepted = await raw.ask({ path, body: hello('2024-11-05') });
    expect([accepted.status, accepted.text]).toEqual([202, 'Accepted']);
    expect(await answered(stream, 0)).toMatchObject({ result: { protocolVersion: '2024-11-05' } });
    await raw.ask({ path, body: tool('x', 'sample_echo', { text: 'hi' }) });
    expect(await answered(stream, 'x')).toEqual({
      jsonrpc: '2.0',
      id: 'x',
      result: { content: [{ type: 'text', text: '{"text":"hi"}' }] },
    });
    stream.close();
  });

  it('keeps the settings of the URL that it was opened with', async () => {
    const stream = await raw.stream({ method: 'GET', path: '/sse?mode=search&backends=&schema=a%26b&sessionId=mine' });
    await eventually(() => stream.events.length > 0);
    const path = String(stream.events[0]);
    expect(path).toMatch(/^\/messages\?sessionId=[0-9a-f-]{36}&backends=&mode=search&schema=a%26b$/);
    await raw.ask({ path: path.replace('a%26b', 'basic'), body: rpc(1, 'tools/list') });
    const { result } = (await answered(stream, 1)) as { result: { tools: { name: string }[] } };
    const names = result.tools.map(({ name }) => name);
    expect([names.includes('find_tools'), names.includes('sample_echo')]).toEqual([true, false]);
    stream.close();
  });

  it.each([
    ['2025-06-18', '2025-06-18'],
    ['2099-01-01', '2024-11-05'],
  ])('answers a client of %s with %s', async (asked, negotiated) => {
    const { stream, path } = await connect();
    await raw.ask({ path, body: hello(asked) });
    expect(await answered(stream, 0)).toMatchObject({ result: { protocolVersion: negotiated } });
    stream.close();
  });

  it('T03 takes messages of the caller that opened it alone', async () => {
    const { stream, path } = await connect();
    const ping = rpc(1, 'ping');
    expect((await raw.ask({ path, body: ping, token: await edge.token({ client_id: 'web' }) })).status).toBe(404);
    expect((await raw.ask({ path, body: ping, token: null })).status).toBe(401);
    expect((await raw.ask({ path: '/messages', body: ping })).status).toBe(400);
    expect((await raw.ask({ path: '/messages?sessionId=x', body: ping })).status).toBe(404);
    expect((await raw.ask({ path, body: '{' })).status).toBe(400);
    stream.close();
    await eventually(async () => (await raw.ask({ path, body: ping })).status === 404);
  });

  it('P66 cancels a call, whose answer then never comes, and refuses an id in flight', async () => {
    const { stream, path } = await connect();
    await raw.ask({ path, body: hello('2024-11-05') });
    const before = ran('sample_slow');
    await raw.ask({ path, body: tool(1, 'sample_slow', { ms: 20_000, mark: 'sse' }) });
    await eventually(() => ran('sample_slow') === before + 1);
    expect((await raw.ask({ path, body: tool(1, 'sample_echo', { text: 'x' }) })).status).toBe(400);
    await raw.ask({ path, body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } });
    await eventually(() => seen.cancelled.has('sse'));
    await raw.ask({ path, body: rpc(2, 'ping') });
    await answered(stream, 2);
    expect(stream.events.some((event: { id?: unknown }) => event.id === 1)).toBe(false);
    stream.close();
  });

  it('tells of a scope that is missing on the stream, since the message was taken', async () => {
    const reader = rawClient(edge.origin, await edge.token({ scope: 'mcp:cortex:read' }));
    const { stream, path } = await connect(reader);
    const accepted = await reader.ask({ path, body: tool(1, 'sample_slow', { ms: 0 }) });
    expect(accepted.status).toBe(202);
    expect(await answered(stream, 1)).toMatchObject({ error: { code: -32603, message: 'Insufficient scope' } });
    stream.close();
  });

  it('hears of changes on its one stream', async () => {
    const { stream } = await connect();
    await flicker();
    await eventually(() => stream.events.some((event: { method?: string }) => event.method === LIST_CHANGED.method));
    stream.close();
  });
});

it('P11 a stop ends every stream, an HTTP+SSE one after its last answer', async () => {
  const other = await startEdge({ beside: [sampleService] });
  const client = rawClient(other.origin, await other.token());
  const streams = [await client.stream({ method: 'GET' }), await client.stream({ method: 'GET', path: '/sse' })];
  const idle = await client.stream({ method: 'GET', path: '/sse' });
  const [, sse] = streams as [RawStream, RawStream];
  await eventually(() => sse.events.length > 0);
  const before = ran('sample_slow');
  await client.ask({ path: String(sse.events[0]), body: tool(1, 'sample_slow', { ms: 1_500, mark: 'last' }) });
  await eventually(() => ran('sample_slow') === before + 1);
  const stopping = other.app.stop();
  await eventually(() => streams[0]?.ended === true && idle.ended);
  expect(sse.ended).toBe(false);
  await eventually(() => sse.ended);
  expect(sse.text).toContain('\\"mark\\":\\"last\\"');
  await stopping;
  await other[Symbol.asyncDispose]();
});

describe('a deployment may turn the old eras off', () => {
  it('all of them: initialize names what is served, GET and DELETE are no methods', async () => {
    const modern = await startEdge({ env: { CORTEX_LEGACY: 'off' } });
    const client = rawClient(modern.origin, await modern.token());
    const { status, json } = await client.ask({ body: hello() });
    expect([status, json.error.code, json.error.data]).toEqual([
      400,
      -32022,
      { supported: ['2026-07-28'], requested: '2025-11-25' },
    ]);
    for (const method of ['GET', 'DELETE']) expect((await client.ask({ method })).status).toBe(405);
    expect((await client.ask({ method: 'GET', path: '/sse' })).status).toBe(404);
    await modern[Symbol.asyncDispose]();
  });

  it('HTTP+SSE alone', async () => {
    const some = await startEdge({ env: { CORTEX_LEGACY_SSE: 'off' } });
    const client = rawClient(some.origin, await some.token());
    expect((await client.ask({ method: 'GET', path: '/sse' })).status).toBe(404);
    expect((await client.ask({ path: '/messages?sessionId=x', body: rpc(1, 'ping') })).status).toBe(404);
    expect((await client.ask({ body: hello() })).status).toBe(200);
    await some[Symbol.asyncDispose]();
  });
});
