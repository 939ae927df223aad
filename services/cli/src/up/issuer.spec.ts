import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JwksSource, TokenVerifier, type VerifiedToken } from '@cortex/auth';
import { freePort } from '@cortex/embedded/ports';
import { eventually, tempDir } from '@cortex/testing';
import { Browser, RawClient, type Page } from '../faults/browser.js';
import { startIssuer, type Issuer, type IssuerOptions } from './issuer.js';

const kid = 'k1';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const private_jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
const canonicalUri = 'http://127.0.0.1:9030/mcp';

let options: IssuerOptions;
let issuer: Issuer;
let told: string[];
beforeEach(async () => {
  told = [];
  options = {
    port: await freePort(),
    key: { kid, private_jwk },
    file: join(await tempDir('issuer'), 'logins.json'),
    canonicalUri,
    audience: canonicalUri,
    owner: 'owner',
    env: {},
    tell: (text) => told.push(text),
  };
  issuer = await startIssuer(options);
});
afterEach(async () => {
  await issuer.close();
  expect(told).toEqual([]);
});

const stop = async (): Promise<void> => {
  await issuer.close();
  // Until the connections that `fetch` kept are gone too.
  await eventually(() =>
    fetch(issuer.url).then(
      () => false,
      (error: Error) => String(error.cause).includes('ECONNREFUSED'),
    ),
  );
};

const restart = async (changes: Partial<IssuerOptions> = {}): Promise<void> => {
  await stop();
  issuer = await startIssuer({ ...options, ...changes });
};

const verified = async (token: string): Promise<VerifiedToken> => {
  const keys = new JwksSource({ url: `${issuer.url}/.well-known/jwks.json` });
  const result = await new TokenVerifier({ keys, issuer: issuer.url, audiences: [canonicalUri] }).verify(token);
  if ('refused' in result) throw new Error(result.refused);
  return result;
};

const login = async (parameters: Record<string, string | undefined> = {}) => {
  const client = await RawClient.make(issuer.url);
  const { status, body } = await client.exchange(await client.code(issuer.loginCode, parameters));
  expect({ status, body }).toMatchObject({ status: 200 });
  return { client, tokens: body };
};

/** A page that waits for the code, in a browser of its own. */
const waiting = async (parameters: Record<string, string | undefined> = {}, metadata?: Record<string, unknown>) => {
  const client = await RawClient.make(issuer.url, metadata);
  const browser = new Browser();
  const page = await browser.open(client.authorizeUrl(parameters));
  return { client, browser, page };
};

/** Whether the client was given a code. */
const allowed = (page: Page): boolean => Boolean(page.left?.searchParams.get('code'));

/** Whatever headers, the ones a browser lets no page set among them. */
const raw = (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
  new Promise((resolve, reject) => {
    request(`${issuer.url}${path}`, { method, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    })
      .once('error', reject)
      .end();
  });

describe('a login', () => {
  it('gives a token that the edge takes: for the owner, the canonical URI and the default scopes', async () => {
    const { client, tokens } = await login();
    const { sub, client_id, audiences, scopes, exp } = await verified(tokens.access_token);
    expect({ sub, client_id, audiences }).toEqual({ sub: 'owner', client_id: client.id, audiences: [canonicalUri] });
    expect([...scopes]).toEqual(expect.arrayContaining(['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices']));
    expect(exp - Date.now() / 1000).toBeLessThanOrEqual(3600);
  });

  it('gives the scopes that were asked for and are known, and no other', async () => {
    const { tokens } = await login({ scope: 'mcp:cortex:read mcp:other:all offline_access', prompt: 'consent' });
    expect(tokens.scope).toBe('mcp:cortex:read');
    expect([...(await verified(tokens.access_token)).scopes]).toEqual(['mcp:cortex:read']);
  });

  it('tells a client that asks for unknown scopes alone which ones there are', async () => {
    const { page } = await waiting({ scope: 'mcp:other:all' });
    expect(page.left?.searchParams.get('error')).toBe('invalid_scope');
    expect(page.left?.searchParams.get('error_description')).toContain('mcp:cortex:read');
  });

  it.each([
    'http://127.0.0.1:9030/mcp',
    'http://localhost:9030/mcp',
    'http://[::1]:9030/mcp/',
    'http://localhost:9030/sse',
  ])('P51 takes %s as the resource, and names the canonical one in aud', async (resource) => {
    const client = await RawClient.make(issuer.url);
    const code = await client.code(issuer.loginCode, { resource });
    const { body } = await client.exchange(code, { resource });
    expect((await verified(body.access_token)).audiences).toEqual([canonicalUri]);
    const renewed = await client.token({ grant_type: 'refresh_token', refresh_token: body.refresh_token, resource });
    expect((await verified(renewed.body.access_token)).audiences).toEqual([canonicalUri]);
  });

  it.each([
    'http://127.0.0.1:9031/mcp',
    'http://127.0.0.1.evil.example:9030/mcp',
    'https://evil.example/mcp',
    'nonsense',
  ])('T01 refuses %s as the resource', async (resource) => {
    const { page } = await waiting({ resource });
    expect(page.left?.searchParams.get('error')).toBe('invalid_target');
  });

  it('comes back on another loopback port than the client registered', async () => {
    const client = await RawClient.make(issuer.url, { application_type: 'web' });
    const browser = new Browser();
    const page = await browser.open(client.authorizeUrl({ redirect_uri: 'http://127.0.0.1:8888/callback' }));
    const { left } = await browser.submit(page, { code: issuer.loginCode });
    expect(left?.origin).toBe('http://127.0.0.1:8888');
  });

  it('ends with access_denied when the owner does not allow it, and asks for no code then', async () => {
    const { browser, page } = await waiting();
    const { left } = await browser.submit(page, { decision: 'deny' });
    expect(left?.searchParams.get('error')).toBe('access_denied');
    expect(left?.searchParams.get('state')).toBe('s1');
  });

  it('is renewed over a restart, and refused when the owner is another person by then', async () => {
    const { client, tokens } = await login();
    await restart();
    const renewed = await client.refresh(tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect((await verified(renewed.body.access_token)).sub).toBe('owner');
    await restart({ owner: 'somebody' });
    const { status, body } = await client.refresh(renewed.body.refresh_token);
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' });
  });

  it('is over when the client revokes its refresh token', async () => {
    const { client, tokens } = await login();
    const body = new URLSearchParams({ client_id: client.id, token: tokens.refresh_token });
    expect((await fetch(`${issuer.url}/revoke`, { method: 'POST', body })).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('starts again where the issuer was restarted in the middle of it', async () => {
    const { browser, page } = await waiting();
    await restart();
    const { status, text } = await browser.submit(page, { code: issuer.loginCode });
    expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining('Start it again in the client') });
  });
});

describe('the page', () => {
  it('shows client, address and scopes as text, whatever they hold', async () => {
    const name = '<img src=x onerror=alert(1)>\u202eevil\u0000';
    const { page } = await waiting({ scope: 'mcp:cortex:admin' }, { client_name: name });
    expect(page.text).toContain('&lt;img src=x onerror=alert(1)&gt;\\u{202e}evil\\u{0}');
    expect(page.text).toContain('unverified');
    expect(page.text).toContain('<code>http://127.0.0.1:7777/callback</code>');
    expect(page.text).toContain('mcp:cortex:admin');
    expect(page.text).not.toContain('<img');
  });

  it('says so when the access goes to another machine', async () => {
    const { page } = await waiting({}, { redirect_uris: ['https://evil.example/cb'] });
    expect(page.text).toContain('<b>evil.example</b> will get the access');
  });

  it('T30 runs nothing, loads nothing, and is shown in no frame', async () => {
    const { page } = await waiting();
    const csp = page.headers.get('content-security-policy');
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    // What the browser follows after the form.
    expect(csp).toContain("form-action 'self' http://127.0.0.1:7777;");
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('referrer-policy')).toBe('same-origin');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.text).not.toContain('<script');
    expect(await raw('/authorize', { 'sec-fetch-dest': 'iframe' })).toBe(403);
  });

  it('asks every time, also in a browser that has logged in before', async () => {
    const { client, browser, page } = await waiting();
    const first = await browser.submit(page, { code: issuer.loginCode });
    expect(allowed(first)).toBe(true);
    const again = await browser.open(client.authorizeUrl());
    expect(again).toMatchObject({ status: 200, left: null, text: expect.stringContaining('Login code') });
    const silent = await browser.open(client.authorizeUrl({ prompt: 'none' }));
    expect(silent.left?.searchParams.get('error')).toBe('login_required');
  });

  it('serves two logins of one browser side by side', async () => {
    const { client, browser, page } = await waiting();
    const other = await RawClient.make(issuer.url, { client_name: 'Other' });
    const second = await browser.open(other.authorizeUrl());
    expect(second.text).toContain('Other');
    const first = await browser.submit(page, { code: issuer.loginCode });
    const code = first.left?.searchParams.get('code') ?? '';
    expect((await client.exchange(code)).status).toBe(200);
    expect(allowed(await browser.submit(second, { code: issuer.loginCode }))).toBe(true);
  });

  it('keeps its cookies from scripts and from forms of other sites', async () => {
    const client = await RawClient.make(issuer.url);
    const { headers } = await fetch(client.authorizeUrl(), { redirect: 'manual' });
    const cookies = headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly$/i);
  });

  it('serves nobody but the browser that began', async () => {
    const { page } = await waiting();
    const stranger = new Browser();
    expect((await stranger.open(page.url)).status).toBe(400);
    expect((await stranger.submit(page, { code: issuer.loginCode })).status).toBe(400);
    const resumed = await stranger.open(page.url.replace('/login/', '/authorize/'));
    expect(resumed).toMatchObject({ status: 400, left: null });
  });

  it('T07 takes no form from another site, not even with the right code', async () => {
    const { browser, page } = await waiting();
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:9030', `${issuer.url}.evil.example`]) {
      const { status, left } = await browser.submit(page, { code: issuer.loginCode }, { origin });
      expect({ origin, status, left }).toEqual({ origin, status: 403, left: null });
    }
    const without = await browser.open(page.url, {
      method: 'POST',
      body: new URLSearchParams({ code: issuer.loginCode }),
    });
    expect(without.status).toBe(403);
    expect(allowed(await browser.submit(page, { code: issuer.loginCode }))).toBe(true);
  });

  it('takes the code however it is typed', async () => {
    const { browser, page } = await waiting();
    const typed = ` ${issuer.loginCode.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`;
    expect(allowed(await browser.submit(page, { code: typed }))).toBe(true);
  });

  it('looks at no code for a minute after 5 wrong ones, not even the right one', async () => {
    const { browser, page } = await waiting();
    for (let n = 1; n < 5; n++) expect((await browser.submit(page, { code: 'AAAAA-AAAAA' })).status).toBe(403);
    expect((await browser.submit(page, { code: '' })).status).toBe(429);
    const locked = await browser.submit(page, { code: issuer.loginCode });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(locked.text).toContain('too many wrong codes');
  });

  it('T18 takes no form that is longer than a code', async () => {
    const { browser, page } = await waiting();
    expect((await browser.submit(page, { code: 'A'.repeat(100_000) })).status).toBe(413);
  });
});

describe('the issuer', () => {
  it('describes itself for both kinds of discovery', async () => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const response = await fetch(`${issuer.url}/.well-known/${name}`, { headers: { origin: 'https://any.example' } });
      expect(response.headers.get('access-control-allow-origin')).not.toBeNull();
      expect(await response.json()).toMatchObject({
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        registration_endpoint: `${issuer.url}/register`,
        revocation_endpoint: `${issuer.url}/revoke`,
        jwks_uri: `${issuer.url}/.well-known/jwks.json`,
        code_challenge_methods_supported: ['S256'],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        authorization_response_iss_parameter_supported: true,
      });
    }
  });

  it('T01 T99 never runs in production', async () => {
    await expect(startIssuer({ ...options, env: { NODE_ENV: 'production' } })).rejects.toThrow(/OAUTH_ISSUER/);
  });

  it('T07 answers to no other name than its own', async () => {
    const { port } = new URL(issuer.url);
    for (const host of [`evil.example:${port}`, `127.0.0.1.evil.example:${port}`, '127.0.0.1', `a@127.0.0.1:${port}`]) {
      expect({ host, status: await raw('/.well-known/jwks.json', { host }) }).toEqual({ host, status: 403 });
    }
    expect(await raw('/.well-known/jwks.json', { host: `localhost:${port}` })).toBe(200);
  });

  it.each([
    '/AUTHORIZE',
    '/authorize/',
    '//authorize',
    'http://evil.example/authorize',
    '/%61uthorize',
    '/session/end',
  ])('knows its addresses by one spelling, so that no check is gone round: %s', async (path) => {
    const { hostname, port } = new URL(issuer.url);
    const status = await new Promise((resolve, reject) => {
      request({ hostname, port, path, headers: { 'sec-fetch-dest': 'document' } }, (response) =>
        resolve(response.resume().statusCode),
      )
        .once('error', reject)
        .end();
    });
    expect(status).toBe(404);
  });

  it('T07 registers for pages of this machine alone', async () => {
    const from = (origin: string) =>
      fetch(`${issuer.url}/register`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: '{"redirect_uris":["http://127.0.0.1:1/"]}',
      });
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example']) {
      expect((await from(origin)).status).toBe(403);
    }
    const local = await from('http://localhost:6274');
    expect(local.status).toBe(201);
    expect(local.headers.get('access-control-allow-origin')).toBe('http://localhost:6274');
  });
});

describe('a code', () => {
  it('used twice ends the whole login', async () => {
    const client = await RawClient.make(issuer.url);
    const code = await client.code(issuer.loginCode);
    const { body } = await client.exchange(code);
    expect((await client.exchange(code)).body.error).toBe('invalid_grant');
    expect((await client.refresh(body.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('used twice at once is good for one token at most', async () => {
    const client = await RawClient.make(issuer.url);
    const code = await client.code(issuer.loginCode);
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.exchange(code)));
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
  });

  it('needs the verifier of its challenge', async () => {
    const client = await RawClient.make(issuer.url);
    const code = await client.code(issuer.loginCode);
    expect((await client.exchange(code, { code_verifier: 'x'.repeat(43) })).body.error).toBe('invalid_grant');
    expect((await client.exchange(code, { code_verifier: '' })).body.error).toBe('invalid_grant');
  });

  it.each([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['a plain challenge', { code_challenge_method: 'plain' }],
    ['a challenge that is plain because it does not say', { code_challenge_method: undefined }],
  ])('is not given for %s', async (_what, parameters) => {
    const { page } = await waiting(parameters);
    expect(page.left?.searchParams.get('error')).toBe('invalid_request');
    expect(allowed(page)).toBe(false);
  });

  it('is of no use to another client', async () => {
    const client = await RawClient.make(issuer.url);
    const other = await RawClient.make(issuer.url);
    const code = await client.code(issuer.loginCode);
    expect((await other.exchange(code, { code_verifier: client.verifier })).body.error).toBe('invalid_grant');
  });

  it.each([
    'https://evil.example/callback',
    'http://127.0.0.1:7777/other',
    'http://127.0.0.1.evil.example:7777/callback',
    'http://127.0.0.1:7777/callback/../x',
    'http://user@127.0.0.1:7777/callback',
    'javascript:alert(1)',
    '//evil.example',
  ])('never goes to %s, which the client did not register, and the browser neither', async (redirect_uri) => {
    const { page } = await waiting({ redirect_uri });
    expect(page).toMatchObject({ status: 400, left: null });
    expect(page.text).toContain('invalid_redirect_uri');
  });
});

describe('a browser', () => {
  it.each([
    ['an unknown scope', { scope: 'nonsense' }, 'invalid_scope'],
    ['another resource', { resource: 'https://evil.example' }, 'invalid_target'],
    ['no page', { prompt: 'none' }, 'login_required'],
    ['a form that sends itself', { prompt: 'none', response_mode: 'form_post' }, 'response_mode must be query'],
  ])('is not sent on to another machine by a link that asks for %s', async (_what, parameters, error) => {
    const { page } = await waiting(parameters, { redirect_uris: ['https://evil.example/cb'] });
    expect(page).toMatchObject({ status: 400, left: null, text: expect.stringContaining(error) });
  });

  it('is told what to do about a client that is unknown', async () => {
    const { client } = await waiting();
    const page = await new Browser().open(client.authorizeUrl({ client_id: 'gone' }));
    expect(page).toMatchObject({ status: 400, left: null, text: expect.stringContaining('forget its registration') });
  });

  it('is sent to another machine when the owner allowed it there', async () => {
    const { browser, page } = await waiting({}, { redirect_uris: ['https://a.example/cb'] });
    const after = await browser.submit(page, { code: issuer.loginCode });
    expect(after.left?.origin).toBe('https://a.example');
    expect(allowed(after)).toBe(true);
  });
});

describe('a refresh token', () => {
  it('is used once; used again it ends the whole login, also over a restart', async () => {
    const { client, tokens } = await login();
    const { body: second } = await client.refresh(tokens.refresh_token);
    await restart();
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await client.refresh(second.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('P58 used twice at once gives the same successor, which goes on', async () => {
    const { client, tokens } = await login();
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.refresh(tokens.refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const [successor = '', ...others] = new Set(answers.map(({ body }) => body.refresh_token));
    expect(others).toEqual([]);
    expect((await client.refresh(successor)).status).toBe(200);
  });

  it('P58 used again after its successor was used ends the whole login', async () => {
    const { client, tokens } = await login();
    const { body: second } = await client.refresh(tokens.refresh_token);
    const { body: third } = await client.refresh(second.refresh_token);
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await client.refresh(third.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('is of no use to another client, also right after it was used', async () => {
    const { client, tokens } = await login();
    const other = await RawClient.make(issuer.url);
    await client.refresh(tokens.refresh_token);
    expect((await other.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('gives no scope that the login did not', async () => {
    const { client, tokens } = await login({ scope: 'mcp:cortex:read' });
    const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, scope: 'mcp:cortex:admin' };
    expect((await client.token(grant)).body.error).toBe('invalid_scope');
  });
});

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

describe('the file of the logins', () => {
  it('is for its owner alone', async () => {
    await login();
    expect(statSync(options.file).mode & 0o077).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(options.file, 'utf8')) as object)).toEqual([
      'Client',
      'Grant',
      'RefreshToken',
    ]);
  });

  it('that cannot be read costs the logins, not the start', async () => {
    const { client, tokens } = await login();
    await stop();
    writeFileSync(options.file, '{"Client": ');
    issuer = await startIssuer(options);
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_client');
    expect((await RawClient.register(issuer.url)).status).toBe(201);
    expect(told.splice(0)).toEqual([expect.stringContaining('every client has to log in again')]);
  });
});
