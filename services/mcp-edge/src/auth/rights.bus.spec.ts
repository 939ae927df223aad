import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { INTROSPECTION_CLIENT, type TestIssuer } from '../testing/issuer.js';
import { rawClient, type RawClient } from '../testing/raw-client.js';
import { ran, sampleService } from '../testing/sample-tools.js';
import { testSessions } from '../testing/sessions.js';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sample_echo', arguments: { text: 'x' } } };
const introspected = ({ url }: TestIssuer) => ({
  OAUTH_INTROSPECT_URL: `${url}/introspect`,
  OAUTH_INTROSPECT_CLIENT_ID: INTROSPECTION_CLIENT.id,
  OAUTH_INTROSPECT_CLIENT_SECRET: INTROSPECTION_CLIENT.secret,
  OAUTH_INTROSPECT_CACHE_TTL_SECONDS: '1',
});
const failures = async (edge: EdgeFixture, reason: string) =>
  (await edge.records()).filter((record) => record.type === 'AuthenticationRefused' && record.reason === reason);

describe('a valid token that is not enough', () => {
  let edge: EdgeFixture;
  let raw: RawClient;
  beforeAll(async () => {
    edge = await startEdge({
      env: {
        OAUTH_REQUIRED_SCOPES: 'base mcp:cortex:read',
        CORTEX_REQUIRED_POOL: 'blue',
        CORTEX_RATE_LIMIT_PER_MINUTE: '10',
      },
    });
    raw = rawClient(edge.origin, await edge.token({ pool: 'blue', scope: 'base mcp:cortex:read mcp:cortex:write' }));
  });
  afterAll(async () => edge[Symbol.asyncDispose]());

  it('is one with pool and baseline: it passes', async () => expect((await raw.ask({ body: call })).status).toBe(200));

  it.each([{ pool: undefined }, { pool: 'red' }, { pool: '' }, { pool: ['blue'] }])(
    'belongs to another pool or to none: %j',
    async (claims) => {
      const before = ran('sample_echo');
      const token = await edge.token({ scope: 'base mcp:cortex:read', sub: JSON.stringify(claims), ...claims });
      const { status, text, headers } = await raw.ask({ body: call, token });
      expect([status, text]).toEqual([403, '{"error":"invalid_audience","detail":"This gateway requires pool=blue"}']);
      expect(headers['www-authenticate']).toBe(
        `Bearer resource_metadata="${edge.origin}/.well-known/oauth-protected-resource/mcp"`,
      );
      expect(ran('sample_echo')).toBe(before);
      await eventually(async () => (await failures(edge, 'pool')).length > 0);
    },
  );

  it('lacks a baseline scope: 403 with all of them in one challenge', async () => {
    const token = await edge.token({ scope: 'base', pool: 'blue', sub: 'bob' });
    const { status, headers } = await raw.ask({ body: call, token });
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope", scope="base mcp:cortex:read", /);
    await eventually(async () => (await failures(edge, 'scope')).length > 0);
  });

  it('counts against the limit of its caller before it is refused for that', async () => {
    const token = await edge.token({ scope: 'base mcp:cortex:read', sub: 'carl' });
    const statuses = [];
    for (let i = 0; i < 11; i++) statuses.push((await raw.ask({ body: call, token })).status);
    expect(new Set(statuses)).toEqual(new Set([403, 429]));
  });

  it('is no matter of a session token, which has neither', async () => {
    await using sessions = await testSessions(edge);
    await sessions.open('s1');
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await raw.ask({ body, token: await sessions.token('s1') })).status).toBe(200);
  });
});

describe('T02 with introspection', () => {
  let edge: EdgeFixture;
  let raw: RawClient;
  beforeAll(async () => {
    edge = await startEdge({ beside: [sampleService], env: introspected });
    raw = rawClient(edge.origin, await edge.token());
  });
  afterAll(async () => edge[Symbol.asyncDispose]());

  it('one question serves the calls of its time, and a revoked token is refused after it', async () => {
    const token = await edge.token({ jti: 'to-revoke' });
    await Promise.all([1, 2, 3].map(() => raw.ask({ body: call, token })));
    const asked = edge.issuer.introspections;
    edge.issuer.revoked.add('to-revoke');
    const answer = await eventually(async () => {
      const { status, json, headers } = await raw.ask({ body: call, token });
      return status === 401 && { json, headers };
    });
    expect(answer.json).toEqual({ error: 'invalid_token', error_description: 'the token has been revoked' });
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(edge.issuer.introspections).toBeGreaterThan(asked);
    await eventually(async () => (await failures(edge, 'revoked')).length > 0);
  });

  it.each([500, 503])('no call runs while the issuer answers %d: 503, and come back in 5 s', async (status) => {
    const before = ran('sample_echo');
    edge.issuer.introspectStatus = status;
    const token = await edge.token({ jti: `away-${status}` });
    const refused = await raw.ask({ body: call, token });
    expect([refused.status, refused.headers['retry-after'], refused.json.error]).toEqual([
      503,
      '5',
      'temporarily_unavailable',
    ]);
    expect(ran('sample_echo')).toBe(before);
    edge.issuer.introspectStatus = undefined;
    expect((await raw.ask({ body: call, token })).status).toBe(200);
    await eventually(async () => (await failures(edge, 'introspection')).length > 0);
  });

  it('a token that the issuer did not sign is not shown to anybody', async () => {
    const asked = edge.issuer.introspections;
    await raw.ask({ body: call, token: await edge.issuer.token('https://other.example/mcp') });
    expect(edge.issuer.introspections).toBe(asked);
  });

  it('wrong credentials of our own let nobody in, and that is not held against the caller', async () => {
    await using wrong = await startEdge({
      env: (issuer) => ({
        ...introspected(issuer),
        OAUTH_INTROSPECT_CLIENT_SECRET: 'another',
        OAUTH_INTROSPECT_FAIL_MODE: 'open',
        CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '1',
      }),
    });
    for (let i = 0; i < 3; i++) {
      const { status, body } = await wrong.call('sample_echo', { text: 'x' });
      expect([status, body]).toEqual([401, expect.objectContaining({ error: 'invalid_token' })]);
    }
  });

  it('and "open" a token passes while the issuer is away', async () => {
    await using open = await startEdge({
      env: (issuer) => ({ ...introspected(issuer), OAUTH_INTROSPECT_FAIL_MODE: 'open' }),
    });
    open.issuer.introspectStatus = 503;
    expect((await open.call('sample_echo', { text: 'x' })).status).toBe(200);
  });
});

describe('P56 keys of the issuer', () => {
  it('may be another one under the same id: the new one is good at once, the old one is dead', async () => {
    await using edge = await startEdge();
    const old = await edge.token();
    expect((await edge.call('sample_echo', { text: 'x' }, { token: old })).status).toBe(200);
    await edge.issuer.rotate(true);
    expect((await edge.call('sample_echo', { text: 'x' }, { token: await edge.token() })).status).toBe(200);
    // Its verdict was remembered, and went with its key.
    expect((await edge.call('sample_echo', { text: 'x' }, { token: old })).status).toBe(401);
  });

  it('T18 are asked for once by a flood of ids that nobody knows, and good tokens pass meanwhile', async () => {
    await using edge = await startEdge({ env: { CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '100000' } });
    const good = await edge.token();
    await edge.call('sample_echo', { text: 'x' }, { token: good });
    const fetches = edge.issuer.fetches;
    const flood = Array.from({ length: 200 }, async (_, i) => {
      const token = await edge.issuer.token(edge.url, {}, { kid: `random-${i}` });
      return (await edge.call('sample_echo', { text: 'x' }, { token })).status;
    });
    const meanwhile = await edge.call('sample_echo', { text: 'x' }, { token: good });
    expect(new Set(await Promise.all(flood))).toEqual(new Set([401]));
    expect([meanwhile.status, edge.issuer.fetches]).toEqual([200, fetches + 1]);
  });

  it('P57 clocks may differ by a minute either way, which is counted, and by no more', async () => {
    await using edge = await startEdge();
    const now = Math.floor(Date.now() / 1000);
    const statusOf = async (claims: object) =>
      (await edge.call('sample_echo', { text: 'x' }, { token: await edge.token({ ...claims }) })).status;
    expect(await statusOf({ iat: now + 4, nbf: now + 50 })).toBe(200);
    expect(await statusOf({ iat: now - 300, exp: now - 50 })).toBe(200);
    expect(await statusOf({ iat: now + 90 })).toBe(401);
    expect(await statusOf({ iat: now - 300, exp: now - 61 })).toBe(401);
    const metrics = await (await fetch(`${edge.origin}/metrics`)).text();
    expect(metrics).toMatch(/^gw_token_skew_total 2$/m);
    expect(metrics).toMatch(/^gw_auth_failures_total\{reason="not_yet_valid"\} 1$/m);
    expect(metrics).toMatch(/^gw_auth_failures_total\{reason="expired"\} 1$/m);
  });
});
