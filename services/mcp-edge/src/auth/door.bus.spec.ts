import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import type { AuthFailureRecord } from '@cortex/contracts';
import { exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawClient } from '../testing/raw-client.js';
import { ran, sampleService } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let raw: RawClient;
let good: string;
const stranger = await generateKeyPair('RS256', { extractable: true });

beforeAll(async () => {
  edge = await startEdge({ beside: [sampleService], env: { CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '10000' } });
  good = await edge.token();
  raw = rawClient(edge.origin, good);
});
afterAll(async () => edge[Symbol.asyncDispose]());

const b64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = () => {
  const now = Math.floor(Date.now() / 1000);
  const { url } = edge.issuer;
  return {
    iss: url,
    aud: edge.url,
    sub: 'alice',
    client_id: 'cli',
    jti: 'j',
    iat: now,
    exp: now + 300,
    scope: 'mcp:cortex:read',
  };
};
const signed = (changes: Record<string, unknown>, header = {}) => edge.issuer.token(edge.url, changes, header);
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sample_echo', arguments: { text: 'x' } } };

/** Every way to forge one, and the reason that its record gives. */
const FORGED: [name: string, reason: string, make: () => string | Promise<string>][] = [
  ['alg none', 'alg', () => `${b64({ alg: 'none' })}.${b64(claims())}.`],
  ['alg None in other letters', 'alg', () => `${b64({ alg: 'nOnE' })}.${b64(claims())}.`],
  ['no signature', 'signature', () => `${b64({ alg: 'RS256', kid: 'k1' })}.${b64(claims())}.`],
  [
    'an HMAC with the public key',
    'alg',
    async () => {
      const text = `${b64({ alg: 'HS256', kid: 'k1' })}.${b64(claims())}`;
      const secret = await exportSPKI(edge.issuer.publicKey);
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    },
  ],
  [
    'a stranger’s key under a known id',
    'signature',
    () => new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(stranger.privateKey),
  ],
  [
    'the claims of a good one changed',
    'signature',
    () => {
      const [head, , signature] = good.split('.');
      return `${head}.${b64({ ...claims(), sub: 'root' })}.${signature}`;
    },
  ],
  ['a foreign issuer', 'issuer', () => signed({ iss: 'https://evil.example' })],
  ['a foreign audience', 'audience', () => signed({ aud: 'https://other.example/mcp' })],
  ['the client for an audience', 'audience', () => signed({ aud: 'cli' })],
  ['no audience', 'audience', () => signed({ aud: undefined })],
  ['an expired one', 'expired', () => signed({ exp: Math.floor(Date.now() / 1000) - 61 })],
  ['one without an end', 'malformed', () => signed({ exp: undefined })],
  ['one of tomorrow', 'not_yet_valid', () => signed({ nbf: Math.floor(Date.now() / 1000) + 86_400 })],
  ['no subject', 'no_sub', () => signed({ sub: undefined })],
  ['no id', 'no_jti', () => signed({ jti: undefined })],
  ['another type', 'malformed', () => signed({}, { typ: 'logout+jwt' })],
  ['too much', 'too_large', () => signed({ filler: 'x'.repeat(8192) })],
  ['noise', 'malformed', () => 'a.b.c'],
];

describe('T01 a forged token', () => {
  it.each(FORGED)('with %s is refused (%s), and nothing runs', async (_name, reason, make) => {
    // A good token of the same caller lies in the cache by now.
    expect((await raw.ask({ body: call })).status).toBe(200);
    const before = ran('sample_echo');
    const token = await make();
    const { status, headers, json } = await raw.ask({
      body: call,
      token,
      headers: { origin: 'http://localhost:5173' },
    });
    expect([status, json.error]).toEqual([401, 'invalid_token']);
    // P55: the way on is in the header, and a browser may read it.
    expect(headers['www-authenticate']).toContain(
      `resource_metadata="${edge.origin}/.well-known/oauth-protected-resource/mcp"`,
    );
    expect(headers['access-control-expose-headers']).toContain('WWW-Authenticate');
    expect(ran('sample_echo')).toBe(before);
    const record = await eventually(async () => {
      const failures = (await edge.records()).filter((r): r is AuthFailureRecord => r.type === 'AuthenticationRefused');
      return failures.find((r) => r.reason === reason) ?? false;
    });
    expect(JSON.stringify(record)).not.toContain(token.slice(0, 20));
    expect(record.ip_hash).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each(['GET', 'DELETE'])('is refused for %s too', async (method) =>
    expect((await raw.ask({ method, token: 'a.b.c' })).status).toBe(401),
  );

  it('is none when it stands in the query', async () => {
    const { status, headers } = await raw.ask({ path: `/mcp?access_token=${good}`, body: call, token: null });
    expect([status, headers['www-authenticate']]).toEqual([401, expect.not.stringContaining('error=')]);
  });
});

describe('the door', () => {
  it('T07 is closed to foreign names and pages before anybody asks for a token', async () => {
    for (const headers of [{ host: '127.0.0.1.evil.example' }, { host: 'evil.example' }]) {
      const { status, text } = await raw.ask({ body: call, headers });
      expect([status, text]).toEqual([403, '{"error":"forbidden_host"}']);
    }
    for (const method of ['POST', 'GET', 'DELETE']) {
      const { status, text } = await raw.ask({ method, headers: { origin: 'https://evil.example' }, token: null });
      expect([status, text]).toEqual([403, '{"error":"forbidden_origin"}']);
    }
    expect((await raw.ask({ method: 'GET', path: '/sse', headers: { origin: 'null' } })).status).toBe(403);
  });

  it('P62 answers a preflight without a token', async () => {
    const headers = {
      origin: 'http://localhost:5173',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-protocol-version, mcp-method, mcp-name',
    };
    for (const path of ['/mcp', '/sse', '/messages']) {
      const { status, headers: got } = await raw.ask({ method: 'OPTIONS', path, headers, token: null });
      expect([status, got['access-control-allow-origin']]).toEqual([204, 'http://localhost:5173']);
    }
    expect((await raw.ask({ method: 'OPTIONS', headers: { ...headers, origin: 'https://evil.example' } })).status).toBe(
      403,
    );
  });

  it('answers unknown paths and wrong methods as JSON', async () => {
    const nowhere = await raw.ask({ method: 'GET', path: '/nowhere' });
    expect([nowhere.status, nowhere.json]).toEqual([404, { error: 'not_found' }]);
    const wrong = await raw.ask({ method: 'PUT' });
    expect([wrong.status, wrong.headers.allow]).toEqual([405, 'POST, GET, DELETE, OPTIONS']);
  });

  it('P56 takes the new key after a rotation, without a restart', async () => {
    await edge.issuer.rotate();
    const { status } = await raw.ask({ body: call, token: await edge.token() });
    expect(status).toBe(200);
    const fetches = edge.issuer.fetches;
    await Promise.all(
      Array.from({ length: 5 }, async (_, i) => raw.ask({ body: call, token: await signed({}, { kid: `x${i}` }) })),
    );
    expect(edge.issuer.fetches).toBe(fetches);
  });
});

describe('what one caller sees', () => {
  const listed = async (token: string, era: 'modern' | 'legacy') => {
    const { body } =
      era === 'modern'
        ? await edge.ask('tools/list', {}, { token })
        : { body: (await raw.ask({ token, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })).json };
    return { result: body.result, names: body.result.tools.map(({ name }: { name: string }) => name) as string[] };
  };

  it.each(['modern', 'legacy'] as const)('P63 another one with fewer scopes never does (%s)', async (era) => {
    const [all, some] = [await edge.token(), await edge.token({ sub: 'bob', scope: 'mcp:cortex:read' })];
    for (let round = 0; round < 2; round++) {
      expect((await listed(all, era)).names).toContain('sample_slow');
      expect((await listed(some, era)).names).not.toContain('sample_slow');
    }
  });

  it('P75 is marked as private to him', async () =>
    expect((await listed(await edge.token(), 'modern')).result.cacheScope).toBe('private'));
});

it('while people cannot be looked up, known callers go on and new ones are told to wait', async () => {
  const known = await edge.token({ sub: 'known' });
  const stranger = await edge.token({ sub: 'stranger' });
  expect((await raw.ask({ body: call, token: known })).status).toBe(200);
  const admin = edge.postgres.pool();
  await admin.query('alter table mcp_edge.people rename to people_away');
  const { status, headers } = await raw.ask({ body: call, token: stranger });
  expect([status, headers['retry-after']]).toEqual([503, '1']);
  expect((await raw.ask({ body: call, token: await edge.token({ sub: 'known' }) })).status).toBe(200);
  await admin.query('alter table mcp_edge.people_away rename to people');
  expect((await raw.ask({ body: call, token: stranger })).status).toBe(200);
});

it('T16 in production /metrics and /ready tell strangers nothing: this machine alone, past no proxy, or the token', async () => {
  const env = {
    NODE_ENV: 'production',
    CORTEX_AUDIT_HASH_KEY: 'k',
    CORTEX_STATE_KEY: Buffer.alloc(32).toString('base64'),
    CORTEX_CANONICAL_URI: 'https://cortex.example/mcp',
    CORTEX_HOST: '127.0.0.1',
  };
  const status = async (origin: string, headers: Record<string, string> = {}) =>
    (await fetch(`${origin}/metrics`, { headers })).status;
  const forwarded = { 'x-forwarded-for': '203.0.113.7' };
  await using open = await startEdge({ env });
  expect([await status(open.origin), await status(open.origin, forwarded)]).toEqual([200, 401]);
  const ready = await fetch(`${open.origin}/ready`, { headers: forwarded });
  expect(await ready.text()).not.toMatch(/127\.0\.0\.1|localhost|postgres:|nats:|sample_/);
  await using closed = await startEdge({ env: { ...env, CORTEX_METRICS_TOKEN: 'm' } });
  const bearer = { ...forwarded, authorization: 'Bearer m' };
  expect([await status(closed.origin), await status(closed.origin, bearer)]).toEqual([401, 200]);
});
