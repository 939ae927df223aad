import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawClient } from '../testing/raw-client.js';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'sample_echo', arguments: { text: 'x' } } };
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** What a proxy that ends TLS sends on, and what a stranger may have sent to it. */
const ENDED = {
  host: 'gw.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'gw.example',
  'x-forwarded-port': '443',
};
const STEERED = {
  host: 'gw.example',
  'x-forwarded-proto': 'http',
  'x-forwarded-host': 'evil.example',
  forwarded: 'host=evil.example',
};

describe.each([
  ['/tools/mcp', 'https://gw.example/tools/mcp'],
  ['/mcp', 'https://gw.example/mcp'],
  ['', 'https://gw.example'],
  ['/mcp', 'https://gw.example/mcp/'],
])('a resource at "%s" behind a proxy that ends TLS (%s)', (path, configured) => {
  const resource = `https://gw.example${path}`;
  let edge: EdgeFixture;
  let raw: RawClient;
  beforeAll(async () => {
    edge = await startEdge({
      env: { CORTEX_CANONICAL_URI: configured, CORTEX_ALLOWED_ORIGINS: 'https://app.example' },
    });
    raw = rawClient(edge.origin, await edge.issuer.token(resource, { scope: 'mcp:cortex:read' }));
  });
  afterAll(async () => edge[Symbol.asyncDispose]());

  it.each([ENDED, STEERED])(
    'P49 P50 P51 has its own document and challenge, whatever is forwarded: %j',
    async (headers) => {
      const refused = await raw.ask({ path: path || '/', body: call, headers, token: null });
      const url = `https://gw.example${WELL_KNOWN}${path}`;
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, `Bearer resource_metadata="${url}"`]);
      for (const at of [`${WELL_KNOWN}${path}`, WELL_KNOWN, `${WELL_KNOWN}${path}/`]) {
        const { status, json } = await raw.ask({ method: 'GET', path: at, headers, token: null });
        expect([status, json.resource, json.authorization_servers]).toEqual([200, resource, [edge.issuer.url]]);
      }
    },
  );

  it('P52 is served under its path, and takes its own audience with and without the slash alone', async () => {
    const statusOf = async (aud: string, at = path || '/') =>
      (
        await raw.ask({
          path: at,
          body: call,
          headers: ENDED,
          token: await edge.issuer.token(aud, { scope: 'mcp:cortex:read' }),
        })
      ).status;
    expect([await statusOf(resource), await statusOf(`${resource}/`), await statusOf(resource, '/mcp')]).toEqual([
      200, 200, 200,
    ]);
    for (const aud of ['https://gw.example/other', 'https://evil.example/mcp', edge.url, `${resource}/x`])
      expect([aud, await statusOf(aud)]).toEqual([aud, 401]);
  });

  it('P62 answers a preflight at its path', async () => {
    const headers = { ...ENDED, origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const { status, headers: got } = await raw.ask({ method: 'OPTIONS', path: path || '/', headers, token: null });
    expect([status, got['access-control-allow-origin']]).toEqual([204, 'https://app.example']);
  });
});

it('the status page stays where it is when the endpoint has no path', async () => {
  await using edge = await startEdge({ env: { CORTEX_CANONICAL_URI: 'https://gw.example' } });
  const raw = rawClient(edge.origin, await edge.token());
  const page = await raw.ask({
    method: 'GET',
    path: '/',
    headers: { host: 'gw.example', accept: 'text/html' },
    token: null,
  });
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
});

it('P53 P54 a token for another audience is told so, counted, and found again by its request and trace', async () => {
  await using edge = await startEdge();
  const traceId = 'a'.repeat(32);
  const { status, headers, body } = await edge.call(
    'sample_echo',
    { text: 'x' },
    {
      token: await edge.issuer.token('cli'),
      headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` },
    },
  );
  expect([status, body.error_description]).toEqual([401, 'the audience of the token is not this server']);
  const metrics = await (await fetch(`${edge.origin}/metrics`)).text();
  expect(metrics).toContain('gw_auth_failures_total{reason="audience"} 1');
  const record = await eventually(
    async () => (await edge.records()).find(({ type }) => type === 'AuthenticationRefused') ?? false,
  );
  expect(record).toMatchObject({ reason: 'audience', request_id: headers.get('x-request-id'), trace_id: traceId });
});
