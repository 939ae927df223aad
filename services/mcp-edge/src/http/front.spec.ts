import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { config } from '../config.js';
import { settingsOf } from '../settings.js';
import { securityHeaders } from './headers.js';
import { clientIp } from './client-ip.js';
import { createHttpFront } from './front.js';
import { hostName } from './host.js';
import { originCheck } from './origin.js';
import { refuseRoute } from './routes.js';
import { cardName } from './server-card.js';

const STATE_KEY = Buffer.alloc(32).toString('base64');
const settingsWith = (env: Record<string, string> = {}) =>
  settingsOf(config.parse({ OAUTH_ISSUER: 'http://127.0.0.1:9031', ...env }), {
    auditHashKey: 'k',
    stateKey: STATE_KEY,
    version: '1.2.3',
  });

interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}
type Ask = (path: string, headers?: Record<string, string>, method?: string) => Promise<Got>;

/** The front behind a plain server, as the routes use it. */
async function serve(env?: Record<string, string>): Promise<{ ask: Ask; logs: object[]; stop: () => void }> {
  const settings = settingsWith(env);
  const logs: object[] = [];
  const scopes = () => ['mcp:cortex:write', 'mcp:cortex:read', 'offline_access'];
  const front = createHttpFront({ settings, scopes, log: (_, __, fields) => void logs.push(fields) });
  const server = createServer((req, res) => {
    const refusal = req.method === 'OPTIONS' ? undefined : front.admit(req);
    if (refusal) return void res.writeHead(refusal.status, [...front.corsHeaders(req)]).end(refusal.body);
    if (req.method === 'OPTIONS') return front.preflight(req, res);
    if (front.publicDocument(req, res)) return;
    res.writeHead(200, [...securityHeaders(settings), ...front.corsHeaders(req)]).end('mcp');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const ask: Ask = (path, headers = {}, method = 'GET') =>
    new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', path, method, headers: { host: 'localhost:9030', ...headers } }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => {
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() });
        });
      })
        .on('error', reject)
        .end();
    });
  return { ask, logs, stop: () => server.close() };
}

let edge: Awaited<ReturnType<typeof serve>>;
let production: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  edge = await serve({
    CORTEX_ALLOWED_ORIGINS: '*.example.com, https://exact.test',
    CORTEX_ALLOWED_HOSTS: 'inner.lan',
  });
  production = await serve({
    NODE_ENV: 'production',
    CORTEX_AUDIT_HASH_KEY: 'k',
    CORTEX_STATE_KEY: STATE_KEY,
    CORTEX_CANONICAL_URI: 'https://mcp.example.org/mcp',
    OAUTH_ISSUER: 'https://id.example.org',
    OAUTH_REQUIRED_SCOPES: 'base',
    CORTEX_METRICS_TOKEN: 'secret',
  });
});
afterAll(() => {
  edge.stop();
  production.stop();
});

describe('T07 the Host header', () => {
  it.each(['localhost', '127.0.0.1:9030', '[::1]:9030', 'LOCALHOST:1', 'inner.lan:80'])('may be %s', async (host) =>
    expect((await edge.ask('/mcp', { host })).status).toBe(200),
  );

  it.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', 'localhost.', 'x@localhost', '0.0.0.0'])(
    'may not be %s',
    async (host) => {
      const { status, body } = await edge.ask('/mcp', { host });
      expect([status, body]).toEqual([403, '{"error":"forbidden_host"}']);
    },
  );

  it('is held to canonical host and loopback in production too', async () => {
    expect((await production.ask('/mcp', { host: 'mcp.example.org' })).status).toBe(200);
    expect((await production.ask('/mcp', { host: 'localhost' })).status).toBe(200);
    expect((await production.ask('/mcp', { host: 'other.example.org' })).status).toBe(403);
  });

  it('is not looked at for probes, nor for metrics that bring their token', async () => {
    const host = '10.0.0.7';
    for (const path of ['/health', '/ready']) expect((await production.ask(path, { host })).status).toBe(200);
    expect((await production.ask('/metrics', { host })).status).toBe(403);
    expect((await production.ask('/metrics', { host, authorization: 'Bearer wrong' })).status).toBe(403);
    expect((await production.ask('/metrics', { host, authorization: 'Bearer secret' })).status).toBe(200);
  });

  it('is read whole', () => {
    expect(hostName('a.b:80')).toBe('a.b');
    for (const bad of [undefined, '', 'a:b:c', '[::1', 'a:']) expect(hostName(bad)).toBeNull();
  });
});

describe('T07 the Origin header', () => {
  const allowed = originCheck(settingsWith({ CORTEX_ALLOWED_ORIGINS: '*.example.com, https://exact.test' }));

  it.each([
    'https://example.com',
    'https://a.example.com',
    'http://a.b.example.com:8080',
    'https://exact.test',
    'http://localhost:5173',
    'https://127.0.0.1',
    'http://[::1]:1',
  ])('may be %s', (origin) => expect(allowed(origin)).toBe(true));

  it.each([
    'null',
    '',
    'https://badexample.com',
    'https://example.com.evil.test',
    'https://exact.test:8443',
    'http://exact.test',
    'http://localhost.evil.test',
    'http://localhost@evil.test',
    'file://localhost',
    'https://a.example.com/path',
    'https://a.example.com, https://evil.test',
    'not an origin',
  ])('may not be %j', (origin) => expect(allowed(origin)).toBe(false));

  it('of loopback counts in development only', () => {
    const env = {
      NODE_ENV: 'production',
      CORTEX_AUDIT_HASH_KEY: 'k',
      CORTEX_STATE_KEY: STATE_KEY,
      CORTEX_CANONICAL_URI: 'https://a.b/mcp',
      OAUTH_ISSUER: 'https://id.b',
    };
    expect(originCheck(settingsWith(env))('http://localhost:5173')).toBe(false);
  });

  it('is refused with a line in the log, but not for public documents', async () => {
    const origin = 'https://evil.test';
    const { status, body, headers } = await edge.ask('/mcp', { origin });
    expect([status, body]).toEqual([403, '{"error":"forbidden_origin"}']);
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(edge.logs).toContainEqual({ origin, path: '/mcp' });
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/mcp/server-card']) {
      const got = await edge.ask(path, { origin });
      expect([got.status, got.headers['access-control-allow-origin']]).toEqual([200, '*']);
    }
  });
});

describe('P62 a browser', () => {
  it('gets its preflight answered without a token, for the headers of both eras', async () => {
    const { status, headers } = await edge.ask(
      '/mcp',
      {
        origin: 'https://a.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-protocol-version, mcp-method, authorization, Mcp-Param-Region, x-other',
      },
      'OPTIONS',
    );
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBe('https://a.example.com');
    expect(headers['access-control-allow-methods']).toBe('POST, GET, DELETE, OPTIONS');
    const list = headers['access-control-allow-headers']?.toLowerCase().split(', ') ?? [];
    expect(list).toEqual(
      expect.arrayContaining(['authorization', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id']),
    );
    expect(list).toContain('mcp-param-region');
    expect(list).not.toContain('x-other');
    expect(headers['access-control-max-age']).toBe('600');
    expect(headers).not.toHaveProperty('access-control-allow-credentials');
  });

  it('sees the exposed headers on the real response', async () => {
    const { headers } = await edge.ask('/mcp', { origin: 'https://a.example.com' });
    expect(headers['access-control-expose-headers']).toBe('Mcp-Session-Id, WWW-Authenticate, Retry-After');
    expect(headers.vary).toBe('Origin');
  });

  it('from an origin that is not listed gets 403', async () => {
    const headers = { origin: 'https://evil.test', 'access-control-request-method': 'POST' };
    expect((await edge.ask('/mcp', headers, 'OPTIONS')).status).toBe(403);
  });
});

describe('discovery', () => {
  const metadata = async (path: string, headers?: Record<string, string>) =>
    JSON.parse((await edge.ask(path, headers)).body) as Record<string, unknown>;

  it.each(['', '/mcp', '/mcp/'])('P51 the root form and the suffixed forms are one document (%j)', async (suffix) => {
    expect(await metadata(`/.well-known/oauth-protected-resource${suffix}`)).toEqual({
      resource: 'http://localhost:9030/mcp',
      authorization_servers: ['http://127.0.0.1:9031'],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp:cortex:read', 'mcp:cortex:write'],
      resource_name: 'cortex-gateway',
    });
  });

  it('P51 /sse is a resource of its own', async () =>
    expect(await metadata('/.well-known/oauth-protected-resource/sse')).toMatchObject({
      resource: 'http://localhost:9030/sse',
    }));

  it.each(['127.0.0.1', 'localhost', '[::1]'])('names the loopback name that the client used: %s', async (name) => {
    const { resource } = await metadata('/.well-known/oauth-protected-resource/mcp', { host: `${name}:9030` });
    expect(resource).toBe(`http://${name}:9030/mcp`);
  });

  it('P49 P50 comes from the canonical URI, whatever the proxy or an attacker says', async () => {
    const { body } = await production.ask('/.well-known/oauth-protected-resource/mcp', {
      host: 'mcp.example.org',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
    });
    expect(JSON.parse(body)).toMatchObject({
      resource: 'https://mcp.example.org/mcp',
      scopes_supported: expect.arrayContaining(['base']),
    });
  });

  it('follows the path of a canonical URI that has its own', async () => {
    const deep = await serve({ CORTEX_CANONICAL_URI: 'http://127.0.0.1:9030/api/oauth' });
    const { body } = await deep.ask('/.well-known/oauth-protected-resource/api/oauth');
    expect(JSON.parse(body)).toMatchObject({ resource: 'http://localhost:9030/api/oauth' });
    deep.stop();
  });

  it('copies the metadata of the issuer for old clients, where the deployment wants that', async () => {
    let documents: Record<string, unknown> = {};
    const issuer = createServer((req, res) => {
      const found = documents[req.url ?? ''];
      res.writeHead(found ? 200 : 404).end(JSON.stringify(found ?? {}));
    });
    await new Promise<void>((done) => issuer.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/realm`;
    const proxy = await serve({ OAUTH_ISSUER: url, CORTEX_PROXY_AS_METADATA: 'true' });
    const path = '/.well-known/oauth-authorization-server';
    expect((await edge.ask(path)).body).toBe('mcp'); // no document here: it fell through to the route behind
    expect((await proxy.ask(path)).status).toBe(503);
    documents = {
      [`${path}/realm`]: { issuer: 'http://evil.example' },
      '/realm/.well-known/openid-configuration': { issuer: url },
    };
    expect(JSON.parse((await proxy.ask(path)).body)).toEqual({ issuer: url });
    documents = {};
    expect((await proxy.ask(path)).status).toBe(200);
    proxy.stop();
    issuer.close();
  });

  it('the server card names every revision and comes with an ETag', async () => {
    const first = await edge.ask('/mcp/server-card');
    expect(first.headers['content-type']).toBe('application/mcp-server-card+json');
    expect(JSON.parse(first.body)).toMatchObject({
      version: '1.2.3',
      title: 'cortex-gateway',
      remotes: [
        {
          type: 'streamable-http',
          url: 'http://127.0.0.1:9030/mcp',
          supportedProtocolVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'],
        },
        { type: 'sse', url: 'http://127.0.0.1:9030/sse', supportedProtocolVersions: ['2024-11-05'] },
      ],
    });
    const etag = first.headers.etag ?? '';
    const again = await edge.ask('/.well-known/mcp/server-card.json', { 'if-none-match': `"x", W/${etag}` });
    expect([again.status, again.body]).toEqual([304, '']);
  });

  it.each([
    ['mcp.example.org', 'My Gateway!', 'org.example.mcp/My-Gateway'],
    ['127.0.0.1', 'g', '127.0.0.1/g'],
    ['[::1]', '', '1/cortex'],
  ])('the card of %s (%j) is named %s', (host, name, expected) => expect(cardName(host, name)).toBe(expected));
});

describe('other routes', () => {
  it('T16 the status page tells name, version and revisions, escaped, and nothing of the catalogue', async () => {
    const page = await serve({ CORTEX_SERVER_NAME: '<script>' });
    const { body, headers } = await page.ask('/');
    page.stop();
    expect(headers['content-type']).toMatch(/^text\/html/);
    expect(body).toContain('1.2.3');
    expect(body).toContain('2026-07-28, 2025-11-25');
    expect(body).not.toContain('<script>');
    expect(body).not.toContain('mcp:cortex');
  });

  it.each(['/icon-light.png', '/icon-dark.png'])('%s is a PNG of 256 by 256', async (path) => {
    const got = await edge.ask(path);
    expect(got.headers['content-type']).toBe('image/png');
    expect(got.headers['content-length']).toMatch(/^\d{4}$/);
  });

  it('carry the security headers', async () => {
    const { headers } = await edge.ask('/');
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'strict-origin-when-cross-origin',
    });
    expect(headers).not.toHaveProperty('strict-transport-security');
    const secure = await production.ask('/mcp/server-card', { host: 'mcp.example.org' });
    expect(secure.headers['strict-transport-security']).toMatch(/max-age/);
  });

  it.each([
    ['GET', '/nowhere', 404, undefined],
    ['PUT', '/mcp', 405, 'POST, GET, DELETE, OPTIONS'],
    ['POST', '/sse?x=1', 405, 'GET, OPTIONS'],
    ['POST', '/.well-known/oauth-protected-resource', 405, 'GET, HEAD, OPTIONS'],
    ['GET', '/constructor', 404, undefined],
  ])('%s %s is refused with %d', (method, url, status, allow) => {
    const refusal = refuseRoute(method, url);
    expect([refusal.status, refusal.headers.Allow]).toEqual([status, allow]);
  });
});

describe('the client address', () => {
  const req = (forwarded?: string) =>
    ({ socket: { remoteAddress: '10.0.0.1' }, headers: { 'x-forwarded-for': forwarded } }) as never;

  it.each([
    [0, '1.1.1.1', '10.0.0.1'],
    [1, '6.6.6.6, 1.1.1.1', '1.1.1.1'],
    [2, '6.6.6.6, 1.1.1.1, 2.2.2.2', '1.1.1.1'],
    [2, '1.1.1.1', '10.0.0.1'],
    [1, undefined, '10.0.0.1'],
  ])('with %d trusted proxies and %j is %s', (hops, forwarded, expected) =>
    expect(clientIp(req(forwarded), hops)).toBe(expected),
  );
});
