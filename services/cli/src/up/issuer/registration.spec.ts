import { describe, expect, it } from '@jest/globals';
import { IssuerFixture } from '../../faults/issuer.js';
import { RawClient } from '../../oauth/browser.js';

const issuer = IssuerFixture.forEach();

describe('a registration', () => {
  it.each([
    ['javascript:alert(1)//'],
    ['data:text/html,x'],
    ['http://evil.example/callback'],
    ['https://user:pass@evil.example/callback'],
    ['https://a.example/#fragment'],
    ['nonsense'],
    [`https://a.example/${'a'.repeat(500)}`],
  ])('with the redirect address %s is refused', async (uri) => {
    const response = await RawClient.register(issuer.url, { redirect_uris: [uri] });
    expect(response.status).toBe(400);
  });

  it.each([
    ['an own scheme', { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] }],
    ['a site', { redirect_uris: ['https://claude.ai/api/mcp/auth_callback'] }],
    [
      'the shape of a web client on loopback',
      { redirect_uris: ['http://localhost:6274/oauth/callback'], application_type: 'web' },
    ],
    ['grant types that there are not', { grant_types: ['authorization_code', 'refresh_token', 'implicit'] }],
    ['scopes that there are not', { scope: 'mcp:other:all' }],
    ['a secret', { token_endpoint_auth_method: 'client_secret_post' }],
  ])('with %s is taken', async (_what, metadata) => {
    expect((await RawClient.register(issuer.url, metadata)).status).toBe(201);
  });

  it('T09 keeps no address that anybody would fetch or show', async () => {
    const address = 'http://169.254.169.254/latest/meta-data';
    const response = await RawClient.register(issuer.url, {
      logo_uri: 'javascript:alert(1)',
      client_uri: address,
      jwks_uri: address,
      sector_identifier_uri: address,
      policy_uri: address,
      contacts: ['<script>'],
    });
    expect(response.status).toBe(201);
    expect(JSON.stringify(await response.json())).not.toMatch(/169\.254|javascript|script/);
  });

  it('is refused with a name longer than a person would read, or more addresses than a client needs', async () => {
    expect((await RawClient.register(issuer.url, { client_name: 'a'.repeat(101) })).status).toBe(400);
    const redirect_uris = Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`);
    expect((await RawClient.register(issuer.url, { redirect_uris })).status).toBe(400);
    expect((await RawClient.register(issuer.url, { x: 'a'.repeat(100_000) })).status).toBe(400);
  });

  it.each([
    'null',
    '[]',
    '{',
    '{"redirect_uris":[{"toString":1}]}',
    '{"redirect_uris":"http://127.0.0.1/"}',
    '{"redirect_uris":["http://127.0.0.1/"],"client_name":{"a":1}}',
    '{"redirect_uris":["http://127.0.0.1/"],"grant_types":"authorization_code"}',
    '{"redirect_uris":["http://127.0.0.1/"],"response_types":["token"]}',
  ])('of %s is refused', async (body) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${issuer.url}/register`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
  });

  it('chooses neither its id nor its secret, and gets no secret that it does not need', async () => {
    const mine = { client_id: 'mine', client_secret: 'mine' };
    const open = (await (await RawClient.register(issuer.url, mine)).json()) as typeof mine;
    expect(open.client_id).not.toBe('mine');
    expect(open.client_secret).toBeUndefined();
    const closed = { ...mine, token_endpoint_auth_method: 'client_secret_basic' };
    const { client_secret } = (await (await RawClient.register(issuer.url, closed)).json()) as typeof mine;
    expect(client_secret).toMatch(/^[\w-]{40,}$/);
  });

  it('T18 waits when there are too many in a minute', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 21; n++) statuses.push((await RawClient.register(issuer.url)).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 201), 429]);
    expect((await RawClient.register(issuer.url)).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });
});
