import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, testBackend, type TestBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const SECRET = 'of the operators';
const ECHO = { name: 'echo', scope: 'mcp:all:read', description: 'Says it back.' };
const env = {
  NODE_ENV: 'production',
  CORTEX_AUDIT_HASH_KEY: 'k',
  CORTEX_STATE_KEY: Buffer.alloc(32).toString('base64'),
  CORTEX_CANONICAL_URI: 'https://cortex.example/mcp',
  CORTEX_HOST: '127.0.0.1',
  CORTEX_METRICS_TOKEN: 'of the scraper',
  CORTEX_ADMIN_SECRET: SECRET,
};
let one: TestBackend;
let two: TestBackend;
let away: TestBackend;
let edge: EdgeFixture;
beforeAll(async () => {
  one = await testBackend([ECHO, { ...ECHO, name: 'broken', inputSchema: { type: 'nonsense' } }]);
  two = await testBackend([ECHO]);
  away = await testBackend([]);
  await away.shut();
  const shared = { CORTEX_BACKEND_ONE_PREFIX: 'all_', CORTEX_BACKEND_TWO_PREFIX: 'all_' };
  const scopes = { CORTEX_BACKEND_ONE_SCOPE_PREFIXES: 'mcp:all:', CORTEX_BACKEND_TWO_SCOPE_PREFIXES: 'mcp:all:' };
  edge = await startEdge({ env: backendEnv({ one, two, away }, { ...env, ...shared, ...scopes }) });
  await eventually(() => edge.edge.federation.complete);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  for (const backend of [one, two, away]) await backend[Symbol.asyncDispose]();
});

const ready = async (headers: Record<string, string> = {}) => {
  const response = await fetch(`${edge.origin}/ready`, { headers });
  return { status: response.status, headers: response.headers, body: (await response.json()) as object };
};
const FORWARDED = { 'x-forwarded-for': '203.0.113.7' };

describe('/ready', () => {
  it('tells strangers whether, and counts, and names no backend, service or reason', async () => {
    const { status, headers, body } = await ready(FORWARDED);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      status: 'ready',
      catalog: { tools: expect.any(Number), backends: 3, unreachable: 1, ageMs: expect.any(Number) },
      nats: 'up',
      postgres: 'up',
      integrity: { mode: 'block', degraded: false, held: expect.any(Number) },
      schemaFaults: 1,
      collisions: 1,
    });
  });

  it.each([
    ['the metrics token', { authorization: 'Bearer of the scraper' }],
    ['the admin secret', { 'x-cortex-admin-secret': SECRET }],
  ])('tells whoever has %s which backends are away, and which names meet', async (_which, headers) => {
    const { body } = await ready({ ...FORWARDED, ...headers } as Record<string, string>);
    expect(body).toMatchObject({
      checks: { 'mcp-edge.bus': { ok: true } },
      details: {
        unreachable: [{ backend: 'away', problem: expect.any(String) }],
        collisions: [expect.stringMatching(/two.*echo/)],
        degraded: [],
        lagging: [],
      },
    });
  });

  it('tells this machine what is wrong, past no proxy, but no backend', async () => {
    const { body } = await ready();
    expect(body).toHaveProperty('checks');
    expect(body).not.toHaveProperty('details');
    const guess = await ready({ ...FORWARDED, authorization: 'Bearer guess', 'x-cortex-admin-secret': 'guess' });
    expect(guess.body).not.toHaveProperty('checks');
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${edge.origin}/ready`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('is 503 while records are not taken, and says so without a reason to strangers', async () => {
    const taken = edge.app.host.health.add('mcp-edge.test', () => 'something of the house');
    const { status, body } = await ready(FORWARDED);
    expect([status, JSON.stringify(body)]).toEqual([503, expect.not.stringContaining('something')]);
    expect(body).toMatchObject({ status: 'not_ready' });
    taken();
  });
});

it('/health tells that the process lives, and its version', async () => {
  const response = await fetch(`${edge.origin}/health`);
  expect(await response.json()).toMatchObject({ status: 'ok', version: expect.stringMatching(/^\d/) });
});

describe('/metrics', () => {
  const scrape = async () =>
    (await fetch(`${edge.origin}/metrics`, { headers: { authorization: 'Bearer of the scraper' } })).text();

  it('has every meter of the gateway, and no user or argument in a label', async () => {
    const token = await edge.issuer.token('https://cortex.example/mcp', {
      sub: 'alice-of-the-tests',
      scope: 'mcp:all:read',
    });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
      host: 'cortex.example',
    };
    await fetch(`${edge.origin}/mcp`, { method: 'POST', headers, body: JSON.stringify(body) });
    await fetch(`${edge.origin}/mcp`, {
      method: 'POST',
      headers: { ...headers, authorization: 'Bearer nonsense' },
      body: '{}',
    });
    const text = await scrape();
    const meters = [
      'gw_requests_total',
      'gw_request_seconds',
      'gw_backend_calls_total',
      'gw_backend_seconds',
      'gw_backend_up',
      'gw_catalog_items',
      'gw_schema_faults',
      'gw_result_mismatches_total',
      'gw_refresh_seconds',
      'gw_quarantined_tools',
      'gw_integrity_degraded',
      'gw_auth_failures_total',
      'gw_token_skew_total',
      'gw_jwks_stale',
      'gw_rate_limited_total',
      'gw_sessions',
      'gw_streams',
      'gw_audit_dropped_total',
      'gw_audit_lines_dropped',
    ];
    for (const meter of meters) expect(text).toMatch(new RegExp(`^# TYPE ${meter} `, 'm'));
    expect(text).toMatch(/^gw_backend_up\{backend="away"\} 0$/m);
    expect(text).toMatch(/^gw_schema_faults\{backend="one",reason="[a-z_]+"\} 1$/m);
    expect(text).not.toContain('alice-of-the-tests');
  });

  it('counts every request by method, era and outcome, tool calls too', async () => {
    const text = await scrape();
    expect(text).toMatch(/^gw_requests_total\{method="tools\/call",era="(modern|legacy)",outcome="[a-z]+"\} \d+$/m);
  });

  it('counts refused tokens by reason', async () => {
    expect(await scrape()).toMatch(/^gw_auth_failures_total\{reason="[a-z_]+"\} [1-9]/m);
  });
});
