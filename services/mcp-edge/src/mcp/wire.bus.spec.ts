import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EdgeFixture, modernMeta, startEdge } from '../testing/edge-fixture.js';
import { type RawAnswer, type RawAsk, type RawClient, rawClient } from '../testing/raw-client.js';
import { sampleService } from '../testing/sample-tools.js';

/** What holds of every answer, whatever was asked. */

let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService], env: { CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '100000' } });
  raw = rawClient(edge.origin, await edge.token());
});
afterAll(async () => edge[Symbol.asyncDispose]());

const rpc = (method: string, params: object = {}, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
const modern = (method: string, params: object = {}, headers: Record<string, string> = {}): RawAsk => ({
  body: rpc(method, { ...params, _meta: modernMeta }),
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...headers },
});
const named = (method: string, name: string, params: object = {}): RawAsk =>
  modern(method, { [method === 'resources/read' ? 'uri' : 'name']: name, ...params }, { 'mcp-name': name });
const hello = (protocolVersion: string) =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } });

describe('every answer', () => {
  const PUBLIC = ['/', '/health', '/ready', '/metrics', '/icon-dark.png', '/mcp/server-card', '/nowhere'];
  const get = (path: string, more: Partial<RawAsk> = {}): [string, RawAsk] => [
    `GET ${path}`,
    { method: 'GET', path, headers: { accept: '*/*' }, token: null, ...more },
  ];
  it.each<[string, RawAsk]>([
    ['a result', modern('tools/list')],
    ['a notification', { body: { jsonrpc: '2.0', method: 'notifications/initialized' } }],
    ['a broken body', { body: '{' }],
    ['no token', { ...modern('tools/list'), token: null }],
    ['a missing scope', { ...named('tools/call', 'sample_slow', { arguments: { ms: 0 } }) }],
    ['a foreign host', { ...modern('tools/list', {}, { host: 'evil.example' }) }],
    ['a foreign origin', { ...modern('tools/list', {}, { origin: 'https://evil.example' }) }],
    ['an unknown session', { body: rpc('ping'), headers: { 'mcp-session-id': 'none' } }],
    ['what nobody can read', { ...modern('tools/list', {}, { accept: 'text/html' }) }],
    ['a body of another type', { ...modern('tools/list', {}, { 'content-type': 'text/plain' }) }],
    ['an unknown method', modern('no/such')],
    ['a method that the path does not take', { method: 'PUT' }],
    ['a preflight', { method: 'OPTIONS', headers: { origin: 'http://localhost:1' }, token: null }],
    ['an operator without the secret', { method: 'GET', path: '/api/admin/tool-integrity', token: null }],
    ['a backend that is none', { path: '/api/backends/none/events', body: {}, token: null }],
    ...PUBLIC.map((path) => get(path)),
    get('/.well-known/oauth-protected-resource/mcp'),
    get('/.well-known/mcp/server-card.json'),
  ])('to %s has the security headers', async (_what, ask) => {
    const reader = await edge.token({ scope: 'mcp:cortex:read' });
    const { headers } = await raw.ask(ask.token === null ? ask : { token: reader, ...ask });
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'content-security-policy': "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
    });
  });

  it('that is a stream has them too', async () => {
    const stream = await raw.stream({ method: 'GET' });
    expect(stream.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
    stream.close();
  });
});

describe('a result of the modern era', () => {
  it.each<[string, RawAsk]>([
    ['server/discover', modern('server/discover')],
    ['tools/list', modern('tools/list')],
    ['prompts/list', modern('prompts/list')],
    ['resources/list', modern('resources/list')],
    ['resources/templates/list', modern('resources/templates/list')],
    ['tools/call of a built-in', named('tools/call', 'whoami')],
    ['tools/call of a service', named('tools/call', 'sample_echo', { arguments: { text: 'x' } })],
    ['a refused tools/call', named('tools/call', 'sample_echo', { arguments: {} })],
    ['resources/read', named('resources/read', 'cortex://architecture')],
  ])('says what it is and who gave it: %s', async (_method, ask) => {
    for (const lane of ['fast', 'sdk']) {
      const { json } = await raw.ask({ ...ask, headers: { ...ask.headers, 'x-cortex-lane': lane } });
      expect(json.result).toMatchObject({
        resultType: 'complete',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'cortex-gateway', version: expect.any(String) } },
      });
    }
  });

  it('is given to a client that does not say who it is', async () => {
    const { 'io.modelcontextprotocol/clientInfo': _info, ...anonymous } = modernMeta;
    for (const method of ['server/discover', 'tools/list']) {
      const { headers = {} } = modern(method);
      const { status, json } = await raw.ask({ headers, body: rpc(method, { _meta: anonymous }) });
      expect([status, json.error]).toEqual([200, undefined]);
    }
  });
});

it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
  'a session of %s is told who serves it, with icons of the same origin',
  async (revision) => {
    const { serverInfo } = (await raw.ask({ body: hello(revision) })).json.result;
    const icon = (theme: string) => ({
      src: `${edge.origin}/icon-${theme}.png`,
      mimeType: 'image/png',
      sizes: ['256x256'],
      theme,
    });
    expect(serverInfo).toEqual({
      name: 'cortex-gateway',
      version: expect.any(String),
      websiteUrl: edge.origin,
      description: expect.any(String),
      icons: [icon('light'), icon('dark')],
    });
  },
);

/** A code, or the word of the gateway in a refusal that is no JSON-RPC. */
const said = ({ status, json }: RawAnswer): unknown[] => [status, json.error?.code ?? json.error];

describe('a refusal', () => {
  const list = modern('tools/list');
  it.each<[string, RawAsk, number, unknown]>([
    ['no JSON', { body: '{' }, 400, -32700],
    ['no message', { body: [] }, 400, -32600],
    ['headers that contradict the body', modern('tools/list', {}, { 'mcp-method': 'tools/call' }), 400, -32020],
    ['an unknown revision', { body: rpc('ping'), headers: { 'mcp-protocol-version': '1999-01-01' } }, 400, -32600],
    ['a session to end that is not named', { method: 'DELETE' }, 400, -32600],
    ['no token', { ...list, token: null }, 401, 'unauthorized'],
    ['a bad token', { ...list, token: 'a.b.c' }, 401, 'invalid_token'],
    ['a foreign host', modern('tools/list', {}, { host: 'evil.example' }), 403, 'forbidden_host'],
    ['a foreign origin', modern('tools/list', {}, { origin: 'https://evil.example' }), 403, 'forbidden_origin'],
    ['an unknown session', { body: rpc('ping'), headers: { 'mcp-session-id': 'none' } }, 404, -32001],
    ['an unknown method', modern('no/such'), 404, -32601],
    ['an unknown path', { method: 'GET', path: '/nowhere' }, 404, 'not_found'],
    ['another method', { method: 'PUT' }, 405, 'method_not_allowed'],
    ['nothing that the client reads', modern('tools/list', {}, { accept: 'text/html' }), 406, 406],
    ['too much', { ...list, headers: { ...list.headers, 'content-length': String(2 ** 25) } }, 413, 413],
    ['another type', modern('tools/list', {}, { 'content-type': 'text/plain' }), 415, 415],
  ])('of %s has its status and its word', async (_what, ask, status, word) => {
    expect(said(await raw.ask(ask))).toEqual([status, word]);
  });

  it('of too many requests says when to come again, and names no request', async () => {
    await using tight = await startEdge({ env: { CORTEX_RATE_LIMIT_PER_MINUTE: '10' } });
    const client = rawClient(tight.origin, await tight.token());
    let last = await client.ask(modern('tools/list'));
    for (let i = 0; i < 20 && last.status === 200; i++) last = await client.ask(modern('tools/list'));
    expect([said(last), Object.keys(last.json).sort()]).toEqual([
      [429, 429],
      ['error', 'jsonrpc'],
    ]);
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
  });

  /** Codes that the protocol has, and HTTP statuses for what is refused before a message is read; by era. */
  const COMMON = [-32700, -32600, -32601, -32602, -32603, 406, 413, 415, 429];
  const MODERN_CODES = new Set([...COMMON, -32020, -32021, -32022]);
  const LEGACY_CODES = new Set([...COMMON, -32001, -32002]);

  it('has no code of the other era, none that is reserved, and never an id of null', async () => {
    const methods = [
      'tools/call',
      'prompts/get',
      'resources/read',
      'completion/complete',
      'resources/subscribe',
      'x/y',
    ];
    const params = [
      {},
      { name: 'none', uri: 'none:x', ref: { type: 'ref/prompt', name: 'none' } },
      { name: 7, uri: 7 },
    ];
    const bodies = methods.flatMap((method) => params.map((given) => [method, given] as const));
    const codes = async (asks: RawAsk[], allowed: Set<number>): Promise<void> => {
      for (const ask of asks) {
        const { json, text } = await raw.ask(ask);
        if (json.error !== undefined) expect([text, allowed.has(json.error.code)]).toEqual([text, true]);
        expect(text).not.toMatch(/"id":null/);
      }
    };
    const name = (given: { name?: unknown; uri?: unknown }, method: string): Record<string, string> => {
      const value = method === 'resources/read' ? given.uri : given.name;
      return typeof value === 'string' ? { 'mcp-name': value } : {};
    };
    await codes(
      bodies.map(([method, given]) => modern(method, given, name(given, method))),
      MODERN_CODES,
    );
    await codes(
      [
        ...bodies.map(([method, given]) => ({ body: rpc(method, given) })),
        ...[null, 1.5, {}].map((id) => ({ body: rpc('ping', {}, id) })),
        { body: rpc('ping'), headers: { 'mcp-session-id': 'none' } },
      ],
      LEGACY_CODES,
    );
  });
});

it('the first check that fails answers, in one order', async () => {
  await using strict = await startEdge({
    env: { CORTEX_REQUIRED_POOL: 'blue', OAUTH_REQUIRED_SCOPES: 'base', CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '3' },
  });
  const client = rawClient(strict.origin, 'a.b.c');
  // Everything is wrong with it; then one thing after the other is put right.
  const ask: RawAsk & { headers: Record<string, string> } = {
    body: '{',
    headers: { host: 'evil.example', origin: 'https://evil.example', 'content-type': 'text/plain' },
  };
  const next = async (): Promise<unknown> => {
    const answer = await client.ask(ask);
    return [answer.status, answer.json.error?.code ?? answer.json.error];
  };
  expect(await next()).toEqual([403, 'forbidden_host']);
  delete ask.headers['host'];
  expect(await next()).toEqual([403, 'forbidden_origin']);
  delete ask.headers['origin'];
  expect(await next()).toEqual([415, 415]);
  ask.headers['content-type'] = 'application/json';
  expect(await next()).toEqual([401, 'invalid_token']);
  ask.token = await strict.token({ pool: 'red', scope: '' });
  expect(await next()).toEqual([403, 'invalid_audience']);
  ask.token = await strict.token({ pool: 'blue', scope: '' });
  expect(await next()).toEqual([403, 'insufficient_scope']);
  ask.token = await strict.token({ pool: 'blue', scope: 'base' });
  expect(await next()).toEqual([400, -32700]);
  ask.body = rpc('no/such', { _meta: modernMeta });
  expect(await next()).toEqual([400, -32020]);
  Object.assign(ask.headers, {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'no/such',
    'mcp-session-id': 'none',
  });
  expect(await next()).toEqual([404, -32601]);
  ask.body = rpc('tools/call', { name: 'sample_slow', arguments: { ms: 'x' }, _meta: modernMeta });
  Object.assign(ask.headers, { 'mcp-method': 'tools/call', 'mcp-name': 'sample_slow' });
  expect(await next()).toEqual([403, -32603]);
  ask.token = await strict.token({ pool: 'blue', scope: 'base mcp:cortex:write' });
  const { json } = await client.ask(ask);
  expect(json.result._meta['cortex/error']).toMatchObject({ kind: 'invalid_argument', field: 'ms' });
  // Failures of before count against the address, before a token is looked at.
  ask.headers['content-type'] = 'application/json';
  ask.token = 'a.b.c';
  await next();
  await next();
  expect(await next()).toEqual([429, expect.anything()]);
});
