import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawAnswer, type RawClient } from '../testing/raw-client.js';
import { ran, sampleService, seen } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService], env: { CORTEX_SSE_KEEPALIVE_MS: '300' } });
  raw = rawClient(edge.origin, await edge.token());
});
afterAll(async () => edge[Symbol.asyncDispose]());

const rpc = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
const notice = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params });
const tool = (id: unknown, name: string, args: object) => rpc(id, 'tools/call', { name, arguments: args });
const hello = (protocolVersion = '2025-11-25') =>
  rpc(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } });

async function open(revision?: string, client = raw): Promise<string> {
  const answer = await client.ask({ body: hello(revision) });
  return String(answer.headers['mcp-session-id']);
}
const inSession = (session: string, body: unknown, more: Record<string, string> = {}) => ({
  headers: { 'mcp-session-id': session, ...more },
  body,
});
const both = { accept: 'application/json, text/event-stream' };
const bodyOf = ({ status, json }: RawAnswer): unknown[] => [status, json.error?.code ?? json.result];

describe('initialize', () => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['2099-01-01', '2025-11-25'],
  ])('with %s is answered with %s', async (asked, answered) => {
    const { json, headers } = await raw.ask({ body: hello(asked) });
    expect(json.result).toMatchObject({
      protocolVersion: answered,
      capabilities: { tools: { listChanged: true }, logging: {} },
      serverInfo: { name: 'cortex-gateway' },
      instructions: expect.stringContaining('whoami'),
    });
    expect(headers['mcp-session-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('P21 is one object out for one object in', async () => {
    const { json } = await raw.ask({ body: hello() });
    expect(Array.isArray(json)).toBe(false);
  });

  it('of a live session is refused, of a dead one begins anew', async () => {
    const session = await open();
    expect(bodyOf(await raw.ask(inSession(session, hello())))).toEqual([400, -32600]);
    const dead = await raw.ask(inSession('00000000-0000-4000-8000-000000000000', hello()));
    expect([dead.status, dead.headers['mcp-session-id']]).toEqual([200, expect.any(String)]);
  });

  it.each([{}, { protocolVersion: 7 }, { protocolVersion: '2025-11-25', capabilities: [] }])(
    'with params %j is refused',
    async (params) => expect(bodyOf(await raw.ask({ body: rpc(1, 'initialize', params) }))).toEqual([200, -32602]),
  );
});

describe('a session', () => {
  it('serves its methods in its own revision', async () => {
    const [now, old] = [await open('2025-11-25'), await open('2025-03-26')];
    const call = tool('a', 'sample_echo', { text: 'x' });
    expect((await raw.ask(inSession(now, call))).json.result.structuredContent).toEqual({ text: 'x' });
    const result = (await raw.ask(inSession(old, call))).json.result;
    expect(result).toEqual({ content: [{ type: 'text', text: '{"text":"x"}' }] });
    const listed = (await raw.ask(inSession(old, rpc(1, 'tools/list')))).json.result;
    expect(listed.tools[0]).not.toHaveProperty('outputSchema');
    expect(listed).not.toHaveProperty('ttlMs');
  });

  it.each([
    ['ping', {}, {}],
    ['prompts/list', {}, { prompts: [] }],
    ['resources/list', {}, { resources: [expect.objectContaining({ uri: 'cortex://architecture' })] }],
    ['resources/templates/list', {}, { resourceTemplates: [] }],
    ['prompts/get', { name: 'x' }, -32602],
    ['resources/read', { uri: 'x:y' }, -32002],
    ['resources/subscribe', { uri: 'x:y' }, -32002],
    ['resources/unsubscribe', { uri: 'x:y' }, {}],
    ['logging/setLevel', { level: 'warning' }, {}],
    ['logging/setLevel', { level: 'loud' }, -32602],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } }, -32602],
    ['tools/list', { cursor: 'x' }, -32602],
    ['tools/call', {}, -32602],
    ['tools/call', { name: 'nothing_like_it' }, -32602],
    ['tasks/list', {}, -32601],
    ['constructor', {}, -32601],
    ['notifications/initialized', {}, -32601],
  ])('P23 answers %s %j', async (method, params, expected) => {
    const session = await open();
    expect(bodyOf(await raw.ask(inSession(session, rpc(1, method, params))))).toEqual([200, expected]);
  });

  it('takes notifications and answers of the client, whatever they say', async () => {
    const session = await open();
    const bodies = [
      notice('notifications/initialized'),
      notice('notifications/cancelled', { requestId: 'unknown' }),
      notice('notifications/cancelled', { requestId: {} }),
      notice('notifications/roots/list_changed'),
      notice('notifications/of/tomorrow'),
      { jsonrpc: '2.0', id: 5, result: {} },
    ];
    for (const body of bodies) {
      const { status, text } = await raw.ask(inSession(session, body));
      expect([status, text]).toEqual([202, '']);
    }
  });

  it('P07 that is dead is 404, and a bad token on a live one is 401: the two stay apart', async () => {
    const session = await open();
    const ping = inSession(session, rpc(1, 'ping'));
    expect((await raw.ask({ ...ping, token: 'a.b.c' })).status).toBe(401);
    expect((await raw.ask({ method: 'DELETE', headers: ping.headers })).status).toBe(202);
    const { status, json } = await raw.ask(ping);
    expect([status, json]).toEqual([
      404,
      { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Invalid or expired session' } },
    ]);
    expect((await raw.ask({ method: 'DELETE', headers: ping.headers })).status).toBe(404);
    expect((await raw.ask({ method: 'DELETE' })).status).toBe(400);
  });

  it('T03 of another client or person answers exactly as an unknown one, in every way to use it', async () => {
    const session = await open();
    const strangers = [await edge.token({ client_id: 'web' }), await edge.token({ sub: 'bob' })];
    const unknown = '00000000-0000-4000-8000-000000000000';
    const uses = (id: string) => [
      inSession(id, rpc(1, 'tools/list')),
      inSession(id, notice('notifications/cancelled', { requestId: 1 })),
      { method: 'GET', headers: { 'mcp-session-id': id } },
      { method: 'DELETE', headers: { 'mcp-session-id': id } },
    ];
    for (const token of strangers) {
      const foreign = await Promise.all(uses(session).map((use) => raw.ask({ ...use, token })));
      const none = await Promise.all(uses(unknown).map((use) => raw.ask({ ...use, token })));
      expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(foreign.map(({ status, text }) => [status, text])).toEqual(none.map(({ status, text }) => [status, text]));
    }
    expect((await raw.ask(inSession(session, rpc(1, 'ping')))).status).toBe(200);
  });

  it('P02 is served by another replica, right after it was opened', async () => {
    const other = await startEdge({
      nats: edge.nats,
      postgres: edge.postgres,
      env: { OAUTH_ISSUER: edge.issuer.url, OAUTH_AUDIENCE: edge.url },
    });
    try {
      const second = rawClient(other.origin, await edge.token());
      const session = await open();
      expect(bodyOf(await second.ask(inSession(session, rpc(1, 'ping'))))).toEqual([200, {}]);
      await second.ask({ method: 'DELETE', headers: { 'mcp-session-id': session } });
      expect((await raw.ask(inSession(session, rpc(2, 'ping')))).status).toBe(404);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });

  it('names a version in its header that is known, or is refused', async () => {
    const session = await open();
    const version = (v: string) => raw.ask(inSession(session, rpc(1, 'ping'), { 'mcp-protocol-version': v }));
    expect((await version('2025-06-18')).status).toBe(200);
    const { status, json } = await version('2024-01-01');
    expect([status, json.error.code, json.error.data.supported]).toEqual([
      400,
      -32600,
      expect.arrayContaining(['2025-11-25']),
    ]);
  });
});

describe('without a session', () => {
  it('lists and calls work', async () => {
    expect((await raw.ask({ body: rpc(1, 'tools/list') })).json.result.tools[0].name).toBe('whoami');
    const { json } = await raw.ask({ body: tool(1, 'sample_echo', { text: 'x' }), headers: both });
    expect(json.result.content).toEqual([{ type: 'text', text: '{"text":"x"}' }]);
  });

  it.each(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])('%s needs one', async (method) => {
    const { json } = await raw.ask({ body: rpc(1, method, { level: 'error', uri: 'x:y' }) });
    expect(json.error).toEqual({ code: -32600, message: 'Session required' });
  });

  it('two requests with one id at once are independent', async () => {
    const answers = await Promise.all(['a', 'b'].map((text) => raw.ask({ body: tool(1, 'sample_echo', { text }) })));
    expect(answers.map(({ json }) => json.result.content[0].text)).toEqual(['{"text":"a"}', '{"text":"b"}']);
  });
});

describe('ids', () => {
  it('P16 1 and "1" are two, and come back with their type', async () => {
    const session = await open();
    const slow = (id: unknown, mark: string) => raw.ask(inSession(session, tool(id, 'sample_slow', { ms: 300, mark })));
    const [number, string] = await Promise.all([slow(1, 'n'), slow('1', 's')]);
    expect([number.json.id, number.json.result.structuredContent]).toEqual([1, { mark: 'n' }]);
    expect([string.json.id, string.json.result.structuredContent]).toEqual(['1', { mark: 's' }]);
  });

  it('P15 of two callers may be equal: each gets his own answer', async () => {
    const bob = rawClient(edge.origin, await edge.token({ sub: 'bob' }));
    const [a, b] = [await open(), await open('2025-11-25', bob)];
    const [mine, his] = await Promise.all([
      raw.ask(inSession(a, tool(0, 'sample_slow', { ms: 200, mark: 'alice' }))),
      bob.ask(inSession(b, tool(0, 'sample_slow', { ms: 100, mark: 'bob' }))),
    ]);
    expect([mine.json.result.structuredContent.mark, his.json.result.structuredContent.mark]).toEqual(['alice', 'bob']);
  });

  it('in flight in a session are refused at once, run nothing, and the first one goes on', async () => {
    const session = await open();
    const before = ran('sample_slow');
    const first = raw.ask(inSession(session, tool(7, 'sample_slow', { ms: 1000, mark: 'first' })));
    await eventually(() => ran('sample_slow') === before + 1);
    const second = await raw.ask(inSession(session, tool(7, 'sample_slow', { ms: 0, mark: 'second' })));
    expect([second.status, second.json.error.code, second.json.id]).toEqual([400, -32600, 7]);
    expect((await first).json.result.structuredContent).toEqual({ mark: 'first' });
    expect(ran('sample_slow')).toBe(before + 1);
    const again = await raw.ask(inSession(session, tool(7, 'sample_echo', { text: 'free' })));
    expect(again.status).toBe(200);
  });

  it('P19 of null are refused, never taken for a notification', async () => {
    for (const headers of [{}, { 'mcp-session-id': await open() }]) {
      const { status, json } = await raw.ask({ headers, body: rpc(null, 'tools/list') });
      expect([status, json.error.code]).toEqual([400, -32600]);
      expect(json).not.toHaveProperty('id');
    }
  });
});

describe('what is no message', () => {
  it.each(['[]', '"x"', '42', 'null', 'true', '{}'])('P23 %s is refused', async (body) =>
    expect(bodyOf(await raw.ask({ body }))).toEqual([400, -32600]),
  );

  it.each(['', '{', '{"jsonrpc":"2.0","id":1,"method":"ping"}}', '\u0000'])('%j is no JSON', async (body) =>
    expect(bodyOf(await raw.ask({ body }))).toEqual([400, -32700]),
  );
});

describe('batches', () => {
  const batch = [rpc(1, 'ping'), notice('notifications/initialized'), rpc('2', 'ping')];

  it.each(['2025-11-25', '2025-06-18', '2024-11-05'])('P20 are refused in a session of %s', async (revision) => {
    const session = await open(revision);
    const before = ran('sample_echo');
    const answer = await raw.ask(inSession(session, [tool(1, 'sample_echo', { text: 'x' })]));
    expect(bodyOf(answer)).toEqual([400, -32600]);
    expect(ran('sample_echo')).toBe(before);
  });

  it('P20 are refused without a session, with one error object', async () => {
    const { status, json } = await raw.ask({ body: batch });
    expect([status, json.error.code, json.error.message]).toEqual([400, -32600, expect.stringContaining('Batches')]);
  });

  it('P22 are served in a session of 2025-03-26', async () => {
    const session = await open('2025-03-26');
    const { status, json } = await raw.ask(inSession(session, batch));
    expect([status, json]).toEqual([
      200,
      [
        { jsonrpc: '2.0', id: 1, result: {} },
        { jsonrpc: '2.0', id: '2', result: {} },
      ],
    ]);
    const silent = await raw.ask(inSession(session, [notice('notifications/initialized')]));
    expect([silent.status, silent.text]).toEqual([202, '']);
  });

  it('P22 answer each bad element for itself, and are refused whole with initialize in them', async () => {
    const session = await open('2025-03-26');
    const { json } = await raw.ask(inSession(session, [rpc(1, 'ping'), 5, rpc(null, 'ping'), rpc(1, 'ping')]));
    expect(json.map((answer: { error?: { code: number } }) => answer.error?.code)).toEqual([
      undefined,
      -32600,
      -32600,
      -32600,
    ]);
    expect(bodyOf(await raw.ask(inSession(session, [hello()])))).toEqual([400, -32600]);
    const many = Array.from({ length: 101 }, (_, i) => rpc(i, 'ping'));
    expect(bodyOf(await raw.ask(inSession(session, many)))).toEqual([400, -32600]);
  });
});

describe('P66 a cancel', () => {
  it('that arrives on another connection stops the call of its session', async () => {
    const session = await open();
    const before = ran('sample_slow');
    const call = raw.ask(inSession(session, tool('c', 'sample_slow', { ms: 20_000, mark: 'p66' }), both));
    await eventually(() => ran('sample_slow') === before + 1);
    await raw.ask(inSession(session, notice('notifications/cancelled', { requestId: 'c' })));
    await eventually(() => seen.cancelled.has('p66'));
    expect((await call).text).toContain('"kind":"cancelled"');
  });

  it('of another session, or with the id in another type, changes nothing', async () => {
    const [mine, other] = [await open(), await open()];
    const before = ran('sample_slow');
    const call = raw.ask(inSession(mine, tool(1, 'sample_slow', { ms: 1_000, mark: 'keeps' })));
    await eventually(() => ran('sample_slow') === before + 1);
    await raw.ask(inSession(other, notice('notifications/cancelled', { requestId: 1 })));
    await raw.ask(inSession(mine, notice('notifications/cancelled', { requestId: '1' })));
    expect((await call).json.result.structuredContent).toEqual({ mark: 'keeps' });
  });

  it('is not what a closed connection means', async () => {
    const session = await open();
    const before = ran('sample_slow');
    const stream = raw.stream(inSession(session, tool(1, 'sample_slow', { ms: 2_800, mark: 'alone' }), both));
    await eventually(() => ran('sample_slow') === before + 1);
    (await stream).close();
    await eventually(
      async () => (await raw.ask(inSession(session, tool(1, 'sample_echo', { text: 'x' })))).status === 200,
    );
    expect(seen.cancelled.has('alone')).toBe(false);
  });
});

describe('a call that is answered as a stream', () => {
  it('is one event, for a client of a session that reads streams', async () => {
    const { headers, text } = await raw.ask(inSession(await open(), tool(1, 'sample_echo', { text: 'a\nb' }), both));
    expect(headers['content-type']).toBe('text/event-stream');
    expect(text).toMatch(
      /^id: (\w+)-0\nretry: 2000\ndata: \n\nid: \1-1\nevent: message\ndata: \{"jsonrpc":"2.0","id":1,"result":.*\}\n\n$/,
    );
  });

  it('P09 is kept alive by comments while it runs', async () => {
    const call = tool(1, 'sample_slow', { ms: 4_000, mark: 'long' });
    const { text } = await raw.ask(inSession(await open(), call, both));
    expect(text).toMatch(/\n\n(: keep-alive\n\n)+id: \w+-1\nevent: message\n/);
  });
});

describe('around the calls', () => {
  it('a missing scope is a 403 with a challenge, before any stream begins', async () => {
    const reader = rawClient(edge.origin, await edge.token({ scope: 'mcp:cortex:read' }));
    const session = await open('2025-11-25', reader);
    const { status, headers, json } = await reader.ask(inSession(session, tool(3, 'sample_slow', { ms: 0 }), both));
    expect([status, json.id, json.error.code]).toEqual([403, 3, -32603]);
    expect(headers['www-authenticate']).toMatch(/error="insufficient_scope", scope="mcp:cortex:write"/);
  });

  it('every request leaves its record, and a call its two', async () => {
    const session = await open();
    await raw.ask(inSession(session, rpc(1, 'tools/list')));
    await raw.ask(inSession(session, rpc(2, 'no/such/method\n')));
    await raw.ask(inSession(session, tool(3, 'sample_echo', { text: 'x' })));
    await raw.ask({ method: 'DELETE', headers: { 'mcp-session-id': session } });
    const records = await eventually(async () => {
      const mine = (await edge.records()).filter((r) => 'mcp_session_id' in r && r.mcp_session_id === session);
      return mine.length >= 5 && mine;
    });
    const said = records.map((r) => ('method' in r ? r.method : r.type));
    expect(said.sort()).toEqual(['DELETE', 'ToolCallFinished', 'initialize', 'tools/list', 'unknown']);
    const list = records.find((r) => 'method' in r && r.method === 'tools/list');
    expect(list).toMatchObject({ era: 'legacy', outcome: 'succeeded', tools_listed: expect.any(Number) });
  });

  it('a batch takes a permit for each of its requests', async () => {
    const tight = await startEdge({ env: { CORTEX_RATE_LIMIT_PER_MINUTE: '10' } });
    const client = rawClient(tight.origin, await tight.token());
    const session = await open('2025-03-26', client);
    const batch = Array.from({ length: 20 }, (_, i) => rpc(i, 'ping'));
    const { json } = await client.ask(inSession(session, batch));
    const refused = json.filter(({ error }: { error?: { code: number } }) => error?.code === 429);
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect((await client.ask(inSession(session, rpc(1, 'ping')))).status).toBe(429);
    await tight[Symbol.asyncDispose]();
  });
});
