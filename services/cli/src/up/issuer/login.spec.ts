import { request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Browser } from '../../oauth/browser.js';
import { allowed, IssuerFixture } from '../../faults/issuer.js';

const issuer = IssuerFixture.forEach();

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
    const { client, tokens } = await issuer.login();
    const { sub, client_id, audiences, scopes, exp } = await issuer.verified(tokens.access_token);
    expect({ sub, client_id, audiences }).toEqual({
      sub: 'owner',
      client_id: client.id,
      audiences: [issuer.options.canonicalUri],
    });
    expect([...scopes]).toEqual(expect.arrayContaining(['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices']));
    expect(exp - Date.now() / 1000).toBeLessThanOrEqual(3600);
  });

  it('gives the scopes that were asked for and are known, and no other', async () => {
    const { tokens } = await issuer.login({
      scope: 'mcp:cortex:read mcp:cortex:all offline_access',
      prompt: 'consent',
    });
    expect(tokens.scope).toBe('mcp:cortex:read');
    expect([...(await issuer.verified(tokens.access_token)).scopes]).toEqual(['mcp:cortex:read']);
  });

  it('gives scopes of backends too, which the page shows, and keeps them when the token is renewed', async () => {
    const scope = 'mcp:cortex:read mcp:demo:write';
    const client = await issuer.client();
    const code = await client.code(issuer.loginCode, { scope });
    const { body } = await client.exchange(code);
    expect(body.scope).toBe(scope);
    const renewed = await client.token({ grant_type: 'refresh_token', refresh_token: body.refresh_token });
    expect([...(await issuer.verified(renewed.body.access_token)).scopes].toSorted()).toEqual(scope.split(' '));
  });

  it('tells a client that asks for unknown scopes alone which ones there are', async () => {
    const { page } = await issuer.waiting({ scope: 'mcp:cortex:all' });
    expect(page.left?.searchParams.get('error')).toBe('invalid_scope');
    expect(page.left?.searchParams.get('error_description')).toContain('mcp:cortex:read');
  });

  it.each([
    'http://127.0.0.1:9030/mcp',
    'http://localhost:9030/mcp',
    'http://[::1]:9030/mcp/',
    'http://localhost:9030/sse',
  ])('P51 takes %s as the resource, and names the canonical one in aud', async (resource) => {
    const client = await issuer.client();
    const code = await client.code(issuer.loginCode, { resource });
    const { body } = await client.exchange(code, { resource });
    expect((await issuer.verified(body.access_token)).audiences).toEqual([issuer.options.canonicalUri]);
    const renewed = await client.token({ grant_type: 'refresh_token', refresh_token: body.refresh_token, resource });
    expect((await issuer.verified(renewed.body.access_token)).audiences).toEqual([issuer.options.canonicalUri]);
  });

  it.each([
    'http://127.0.0.1:9031/mcp',
    'http://127.0.0.1.evil.example:9030/mcp',
    'https://evil.example/mcp',
    'nonsense',
  ])('T01 refuses %s as the resource', async (resource) => {
    const { page } = await issuer.waiting({ resource });
    expect(page.left?.searchParams.get('error')).toBe('invalid_target');
  });

  it('comes back on another loopback port than the client registered', async () => {
    const client = await issuer.client({ application_type: 'web' });
    const browser = new Browser();
    const page = await browser.open(client.authorizeUrl({ redirect_uri: 'http://127.0.0.1:8888/callback' }));
    const { left } = await browser.submit(page, { code: issuer.loginCode });
    expect(left?.origin).toBe('http://127.0.0.1:8888');
  });

  it('ends with access_denied when the owner does not allow it, and asks for no code then', async () => {
    const { browser, page } = await issuer.waiting();
    const { left } = await browser.submit(page, { decision: 'deny' });
    expect(left?.searchParams.get('error')).toBe('access_denied');
    expect(left?.searchParams.get('state')).toBe('s1');
  });

  it('is renewed over a restart, and refused when the owner is another person by then', async () => {
    const { client, tokens } = await issuer.login();
    await issuer.restart();
    const renewed = await client.refresh(tokens.refresh_token);
    expect(renewed.status).toBe(200);
    expect((await issuer.verified(renewed.body.access_token)).sub).toBe('owner');
    await issuer.restart({ owner: 'somebody' });
    const { status, body } = await client.refresh(renewed.body.refresh_token);
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_grant' });
  });

  it('is over when the client revokes its refresh token', async () => {
    const { client, tokens } = await issuer.login();
    const body = new URLSearchParams({ client_id: client.id, token: tokens.refresh_token });
    expect((await fetch(`${issuer.url}/revoke`, { method: 'POST', body })).status).toBe(200);
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  it('starts again where the issuer was restarted in the middle of it', async () => {
    const { browser, page } = await issuer.waiting();
    await issuer.restart();
    const { status, text } = await browser.submit(page, { code: issuer.loginCode });
    expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining('Start it again in the client') });
  });
});

describe('the page', () => {
  it('shows client, address and scopes as text, whatever they hold', async () => {
    const name = '<img src=x onerror=alert(1)>\u202eevil\u0000';
    const { page } = await issuer.waiting({ scope: 'mcp:cortex:admin' }, { client_name: name });
    expect(page.text).toContain('&lt;img src=x onerror=alert(1)&gt;\\u{202e}evil\\u{0}');
    expect(page.text).toContain('unverified');
    expect(page.text).toContain('<code>http://127.0.0.1:7777/callback</code>');
    expect(page.text).toContain('mcp:cortex:admin');
    expect(page.text).not.toContain('<img');
  });

  it('says so when the access goes to another machine', async () => {
    const { page } = await issuer.waiting({}, { redirect_uris: ['https://evil.example/cb'] });
    expect(page.text).toContain('<b>evil.example</b> will get the access');
  });

  it('T30 runs nothing, loads nothing, and is shown in no frame', async () => {
    const { page } = await issuer.waiting();
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
    const { client, browser, page } = await issuer.waiting();
    const first = await browser.submit(page, { code: issuer.loginCode });
    expect(allowed(first)).toBe(true);
    const again = await browser.open(client.authorizeUrl());
    expect(again).toMatchObject({ status: 200, left: null, text: expect.stringContaining('Login code') });
    const silent = await browser.open(client.authorizeUrl({ prompt: 'none' }));
    expect(silent.left?.searchParams.get('error')).toBe('login_required');
  });

  it('serves two logins of one browser side by side', async () => {
    const { client, browser, page } = await issuer.waiting();
    const other = await issuer.client({ client_name: 'Other' });
    const second = await browser.open(other.authorizeUrl());
    expect(second.text).toContain('Other');
    const first = await browser.submit(page, { code: issuer.loginCode });
    const code = first.left?.searchParams.get('code') ?? '';
    expect((await client.exchange(code)).status).toBe(200);
    expect(allowed(await browser.submit(second, { code: issuer.loginCode }))).toBe(true);
  });

  it('keeps its cookies from scripts and from forms of other sites', async () => {
    const client = await issuer.client();
    const { headers } = await fetch(client.authorizeUrl(), { redirect: 'manual' });
    const cookies = headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly$/i);
  });

  it('serves nobody but the browser that began', async () => {
    const { page } = await issuer.waiting();
    const stranger = new Browser();
    expect((await stranger.open(page.url)).status).toBe(400);
    expect((await stranger.submit(page, { code: issuer.loginCode })).status).toBe(400);
    const resumed = await stranger.open(page.url.replace('/login/', '/authorize/'));
    expect(resumed).toMatchObject({ status: 400, left: null });
  });

  it('T07 takes no form from another site, not even with the right code', async () => {
    const { browser, page } = await issuer.waiting();
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
    const { browser, page } = await issuer.waiting();
    const typed = ` ${issuer.loginCode.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`;
    expect(allowed(await browser.submit(page, { code: typed }))).toBe(true);
  });

  it('looks at no code for a minute after 5 wrong ones, not even the right one', async () => {
    const { browser, page } = await issuer.waiting();
    for (let n = 1; n < 5; n++) expect((await browser.submit(page, { code: 'AAAAA-AAAAA' })).status).toBe(403);
    expect((await browser.submit(page, { code: '' })).status).toBe(429);
    const locked = await browser.submit(page, { code: issuer.loginCode });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(locked.text).toContain('too many wrong codes');
  });

  it('T18 takes no form that is longer than a code', async () => {
    const { browser, page } = await issuer.waiting();
    expect((await browser.submit(page, { code: 'A'.repeat(100_000) })).status).toBe(413);
  });
});

describe('a browser', () => {
  it.each([
    ['an unknown scope', { scope: 'nonsense' }, 'invalid_scope'],
    ['another resource', { resource: 'https://evil.example' }, 'invalid_target'],
    ['no page', { prompt: 'none' }, 'login_required'],
    ['a form that sends itself', { prompt: 'none', response_mode: 'form_post' }, 'response_mode must be query'],
  ])('is not sent on to another machine by a link that asks for %s', async (_what, parameters, error) => {
    const { page } = await issuer.waiting(parameters, { redirect_uris: ['https://evil.example/cb'] });
    expect(page).toMatchObject({ status: 400, left: null, text: expect.stringContaining(error) });
  });

  it('is told what to do about a client that is unknown', async () => {
    const { client } = await issuer.waiting();
    const page = await new Browser().open(client.authorizeUrl({ client_id: 'gone' }));
    expect(page).toMatchObject({ status: 400, left: null, text: expect.stringContaining('forget its registration') });
  });

  it('is sent to another machine when the owner allowed it there', async () => {
    const { browser, page } = await issuer.waiting({}, { redirect_uris: ['https://a.example/cb'] });
    const after = await browser.submit(page, { code: issuer.loginCode });
    expect(after.left?.origin).toBe('https://a.example');
    expect(allowed(after)).toBe(true);
  });
});
