import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { IssuerFixture } from '../faults/issuer.js';
import { RawClient } from '../oauth/browser.js';

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
    await expect(issuer.start({ env: { NODE_ENV: 'production' } })).rejects.toThrow(/OAUTH_ISSUER/);
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

describe('the file of the logins', () => {
  it('is for its owner alone', async () => {
    await issuer.login();
    expect(statSync(issuer.options.file).mode & 0o077).toBe(0);
    expect(Object.keys(JSON.parse(readFileSync(issuer.options.file, 'utf8')) as object)).toEqual([
      'Client',
      'Grant',
      'RefreshToken',
    ]);
  });

  it('that cannot be read costs the logins, not the start', async () => {
    const { client, tokens } = await issuer.login();
    await issuer.stop();
    writeFileSync(issuer.options.file, '{"Client": ');
    await issuer.start();
    expect((await client.refresh(tokens.refresh_token)).body.error).toBe('invalid_client');
    expect((await RawClient.register(issuer.url)).status).toBe(201);
    expect(issuer.told.splice(0)).toEqual([expect.stringContaining('every client has to log in again')]);
  });
});
