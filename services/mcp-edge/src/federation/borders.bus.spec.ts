import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, testBackend, type TestBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';

const tool = (name: string, more: object = {}) => ({
  name,
  scope: 'mcp:zoo:use',
  description: `Does ${name}.`,
  ...more,
});
const REGION = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, n: { type: 'integer' } },
};
const ZOO = [tool('b'), tool('region', { inputSchema: REGION }), tool('B'), tool('a', { timeoutMs: 300 })];

let zoo: TestBackend;
let ant: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  zoo = await testBackend();
  ant = await testBackend([{ ...tool('one'), scope: 'mcp:ant:only' }]);
  zoo.answers['list_resource_templates'] = () => ({
    resourceTemplates: [
      { uriTemplate: 'zoo://cages/{id}', name: 'Cages', scope: 'mcp:zoo:use' },
      { uriTemplate: 'zoo://cages/lion-{id}', name: 'Lions', scope: 'mcp:zoo:keeper' },
    ],
  });
  zoo.answers['list_prompts'] = () => ({ prompts: [{ name: 'p', description: 'P.', scope: 'mcp:zoo:talk' }] });
  zoo.answers['read_resource'] = ({ params }) => ({ contents: [{ uri: params.uri, text: 'roar' }] });
  for (const { name } of ZOO) zoo.answers[name] = ({ params }) => params;
  edge = await startEdge({ beside: [], env: backendEnv({ zoo, ant }) });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await zoo[Symbol.asyncDispose]();
  await ant[Symbol.asyncDispose]();
});
beforeEach(async () => {
  zoo.tools = ZOO;
  await edge.edge.federation.refresh();
  token = await edge.token({ scope: 'mcp:zoo:use mcp:ant:only' });
});

const call = (name: string, args: object = {}, ask: Ask = {}) => edge.call(name, args, { token, ...ask });
const names = async (at = edge): Promise<string[]> =>
  (
    await at.ask('tools/list', {}, { token: await at.token({ scope: 'mcp:zoo:use mcp:ant:only' }) })
  ).body.result.tools.map(({ name }: { name: string }) => name);

describe('the scopes that a client can ask for', () => {
  const scopes = async (at = edge): Promise<string[]> => {
    const response = await fetch(`${at.origin}/.well-known/oauth-protected-resource/mcp`);
    return ((await response.json()) as { scopes_supported?: string[] }).scopes_supported ?? [];
  };

  it('are those of everything that is offered now, and no longer those of what went or is held back', async () => {
    const all = ['mcp:ant:only', 'mcp:zoo:keeper', 'mcp:zoo:talk', 'mcp:zoo:use'];
    expect(await scopes()).toEqual(expect.arrayContaining(all));
    expect(await scopes()).toEqual((await scopes()).toSorted());
    await ant.shut();
    zoo.tools = [...ZOO, tool('poison', { scope: 'mcp:zoo:poison', description: 'Fine.\u200b' })];
    await edge.edge.federation.refresh();
    expect(await scopes()).toEqual(expect.not.arrayContaining(['mcp:ant:only']));
    expect(await scopes()).not.toContain('mcp:zoo:poison');
    expect(await scopes()).toContain('mcp:zoo:use');
    await ant.open();
  });

  it('are the baseline alone where the deployment wants that', async () => {
    await using baseline = await startEdge({
      beside: [],
      env: backendEnv({ zoo }, { CORTEX_SCOPES_SUPPORTED: 'baseline', OAUTH_REQUIRED_SCOPES: 'base offline_access' }),
    });
    await eventually(() => baseline.edge.federation.complete);
    expect(await scopes(baseline)).toEqual(['base']);
  });
});

describe('a resource', () => {
  it('T17 is read with the scope of the template that it belongs to, not with that of a wider one', async () => {
    const read = (uri: string, bearer = token) => edge.ask('resources/read', { uri }, { token: bearer });
    expect((await read('zoo://cages/1')).body.result.contents).toEqual([{ uri: 'zoo://cages/1', text: 'roar' }]);
    const before = zoo.asked.length;
    const { status, headers, body } = await read('zoo://cages/lion-1');
    expect([status, body.error.message, body.error.data.required]).toEqual([
      403,
      'Insufficient scope',
      ['mcp:zoo:keeper'],
    ]);
    expect(headers.get('www-authenticate')).toContain('mcp:zoo:keeper');
    const old = rawClient(edge.origin, token);
    const legacy = await old.ask({
      body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'zoo://cages/lion-1' } },
    });
    expect(legacy.json.error).toBeDefined();
    expect(zoo.asked.length).toBe(before);
    const keeper = await edge.token({ scope: 'mcp:zoo:keeper' });
    expect((await read('zoo://cages/lion-1', keeper)).status).toBe(200);
    expect((await read('zoo://cages/1', keeper)).status).toBe(403);
  });
});

it('tools are in the order of their backends, and of each in that of the bytes of their names', async () => {
  expect((await names()).slice(-5)).toEqual(['zoo_B', 'zoo_a', 'zoo_b', 'zoo_region', 'ant_one']);
  expect((await names())[0]).toBe('whoami');
});

describe('a parameter in a header', () => {
  it.each([
    ['is the argument', { region: 'eu' }, { 'mcp-param-region': 'eu' }, 200],
    ['may be Base64', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, 200],
    ['is not asked for without the argument', { n: 1 }, {}, 200],
    ['is missing', { region: 'eu' }, {}, 400],
    ['is another one than the argument', { region: 'eu' }, { 'mcp-param-region': 'us' }, 400],
    ['of an unknown name is nobody`s', { n: 1 }, { 'mcp-param-other': 'x' }, 200],
  ])('%s', async (_rule, args, headers, status) => {
    for (const sdk of [false, true]) {
      const before = zoo.asked.length;
      const answer = await call('zoo_region', args, { headers: headers as unknown as Record<string, string>, sdk });
      expect([answer.status, answer.body.error?.code]).toEqual([status, status === 200 ? undefined : -32020]);
      expect(zoo.asked.length).toBe(before + (status === 200 ? 1 : 0));
    }
  });
});

describe('what a backend is told of a call', () => {
  it('is who asks by which revision, what its client can do and wants to hear', async () => {
    const capabilities = { elicitation: { form: {} } };
    const { headers } = await call(
      'zoo_b',
      {},
      {
        meta: {
          'io.modelcontextprotocol/clientCapabilities': capabilities,
          'io.modelcontextprotocol/logLevel': 'warning',
          progressToken: 'never shown',
        },
      },
    );
    expect(headers.get('content-type')).toMatch(/json|event-stream/);
    const { context, headers: sent } = zoo.asked.at(-1)!;
    expect(context).toEqual({
      requestId: sent['x-cortex-request-id'],
      era: 'modern',
      protocolVersion: '2026-07-28',
      clientInfo: { name: 'spec', version: '1' },
      clientCapabilities: capabilities,
      logLevel: 'warning',
      wantsProgress: true,
      toolName: 'zoo_b',
    });
    const old = rawClient(edge.origin, token);
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'zoo_b', arguments: {} } };
    await old.ask({ body, headers: { 'mcp-protocol-version': '2025-06-18' } });
    expect(zoo.asked.at(-1)?.context).toMatchObject({
      era: 'legacy',
      protocolVersion: '2025-06-18',
      wantsProgress: false,
    });
  });

  it('has the trace of the client, whether that says so in _meta or in a header, and none that is bogus', async () => {
    const trace = (digit: string) => `00-${digit.repeat(32)}-${'b'.repeat(16)}-01`;
    const sent = () => zoo.asked.at(-1)?.headers;
    await call(
      'zoo_b',
      {},
      { meta: { traceparent: trace('1'), tracestate: 'v=1' }, headers: { traceparent: trace('2') } },
    );
    expect(sent()?.traceparent).toContain('1'.repeat(32));
    expect(sent()?.tracestate).toBe('v=1');
    await call('zoo_b', {}, { headers: { traceparent: trace('3') }, meta: { baggage: 'a=1,b=%20' } });
    expect(sent()?.['baggage']).toBe('a=1,b=%20');
    expect(sent()?.traceparent).toContain('3'.repeat(32));
    await call('zoo_b', {}, { meta: { traceparent: 'bogus\r\nx: 1', baggage: 'a=1\r\nx: 1' } });
    expect(sent()?.traceparent).not.toContain('bogus');
    expect(sent()?.['baggage']).toBeUndefined();
    expect(sent()?.['x']).toBeUndefined();
  });
});

it('P69 a text of 400 kB and one of 5 MB come through whole', async () => {
  for (const size of [400_000, 5_000_000]) {
    const text = `${'ä'.repeat(size / 2 - 1)}.`;
    zoo.answers['b'] = () => text;
    const { body } = await call('zoo_b');
    expect(body.result.content).toEqual([{ type: 'text', text }]);
  }
  zoo.answers['b'] = ({ params }) => params;
});

describe('a call that fails', () => {
  it('says how, and neither where the backend is nor what it was sent', async () => {
    zoo.answers['a'] = () => undefined;
    zoo.answers['b'] = (_asked, res) => void res.end('<html>');
    const failures = [(await call('zoo_a')).body.error, (await call('zoo_b')).body.error];
    await ant.shut();
    failures.push((await call('ant_one')).body.error);
    await ant.open();
    expect(failures).toEqual([
      { code: -32603, message: 'Backend zoo timed out after 300ms', data: { outcome: 'unknown' } },
      { code: -32603, message: 'Backend zoo sent an invalid response' },
      { code: -32603, message: 'Backend ant unavailable', data: { retryAfterMs: expect.any(Number) } },
    ]);
    expect(JSON.stringify(failures)).not.toMatch(/127\.0\.0\.1|http:|Bearer/);
    for (const name of ['a', 'b']) zoo.answers[name] = ({ params }) => params;
  });

  it('is an error of JSON-RPC in every case where the deployment wants that, a missing scope too', async () => {
    await using plain = await startEdge({
      beside: [],
      env: backendEnv({ zoo }, { CORTEX_BACKEND_ERROR_STYLE: 'rpc', CORTEX_SCOPE_CHALLENGE: 'rpc' }),
    });
    await eventually(() => plain.edge.federation.complete);
    zoo.answers['b'] = (_asked, res) => json(res, 409, { error: 'there already' });
    const answer = await plain.call('zoo_b', {}, { token: await plain.token({ scope: 'mcp:zoo:use' }) });
    expect(answer.body.error).toEqual({
      code: -32603,
      message: 'Backend 409: there already',
      data: { status: 409, backendError: { error: 'there already' } },
    });
    const refused = await plain.call('zoo_b', {}, { token: await plain.token({ scope: '' }) });
    expect([refused.status, refused.body.error.message, refused.headers.get('www-authenticate')]).toEqual([
      200,
      'Insufficient scope',
      null,
    ]);
    zoo.answers['b'] = ({ params }) => params;
  });
});

describe('a refresh', () => {
  it('P28 that has not ended makes lists that nobody keeps, and an edge that is not ready', async () => {
    await using slow = await testBackend();
    let answer = (): unknown => undefined;
    slow.answers['list_tools'] = (_asked, res) => void (answer = () => json(res, 200, { tools: [] }));
    await using early = await startEdge({ beside: [], ready: false, env: backendEnv({ slow }) });
    await eventually(() => slow.asked.length > 0);
    const ttl = async (method: string) => (await early.ask(method)).body.result.ttlMs as number;
    const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
    for (const method of lists) expect([method, await ttl(method)]).toEqual([method, 1_000]);
    expect((await fetch(`${early.origin}/ready`)).status).toBe(503);
    answer();
    await eventually(async () => (await fetch(`${early.origin}/ready`)).status === 200);
    for (const method of lists) expect([method, await ttl(method)]).toEqual([method, 60_000]);
  });

  it('comes by itself, and its result is there as a whole or not at all', async () => {
    await using twin = await testBackend([tool('x1'), tool('y1')].map((one) => ({ ...one, scope: 'mcp:twin:use' })));
    await using often = await startEdge({
      beside: [],
      env: { ...backendEnv({ twin }), CORTEX_REFRESH_INTERVAL_MS: '100' },
    });
    await eventually(() => often.edge.federation.complete);
    const bearer = await often.token({ scope: 'mcp:twin:use' });
    const seen = new Set<string>();
    const look = async (): Promise<string> => {
      const { tools } = (await often.ask('tools/list', {}, { token: bearer })).body.result;
      const of = tools.map(({ name }: { name: string }) => name).filter((name: string) => name.startsWith('twin_'));
      seen.add(of.join());
      return of.join();
    };
    for (const end of [2, 3]) {
      await look();
      twin.tools = ['x', 'y'].map((start) => ({ ...tool(`${start}${end}`), scope: 'mcp:twin:use' }));
      await eventually(async () => (await look()) === `twin_x${end},twin_y${end}`);
    }
    expect([...seen]).toEqual(['twin_x1,twin_y1', 'twin_x2,twin_y2', 'twin_x3,twin_y3']);
  });
});
