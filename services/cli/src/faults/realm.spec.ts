import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEdge, type EdgeFixture } from '@cortex/mcp-edge/testing/edge-fixture';
import { ran } from '@cortex/mcp-edge/testing/sample-tools';
import { REALM_ALGS, type Realm, startRealm } from './realm.js';

const SECRET = 'of the operators';
let realm: Realm;
let edge: EdgeFixture;
beforeAll(async () => {
  realm = await startRealm();
  edge = await startEdge({
    env: {
      OAUTH_ISSUER: realm.issuer,
      OAUTH_JWKS_URL: realm.jwksUrl,
      OAUTH_ALLOWED_ALGS: REALM_ALGS.join(','),
      CORTEX_ADMIN_SECRET: SECRET,
      CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '10000',
    },
  });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await realm[Symbol.asyncDispose]();
});

const echo = (token: string) => edge.call('sample_echo', { text: 'x' }, { token });
const claims = (changes: object = {}) => {
  const iat = Math.floor(Date.now() / 1000);
  const usual = {
    iss: realm.issuer,
    aud: edge.url,
    sub: 'f3b1',
    azp: 'web',
    jti: randomUUID(),
    typ: 'Bearer',
    iat,
    exp: iat + 300,
  };
  return { ...usual, scope: 'openid mcp:cortex:read', ...changes };
};

describe('a realm below a path', () => {
  it('is where the metadata of the resource sends a client', async () => {
    const response = await fetch(`${edge.origin}/.well-known/oauth-protected-resource/mcp`);
    const document = (await response.json()) as { authorization_servers: string[] };
    expect(document.authorization_servers).toEqual([realm.issuer]);
    const metadata = (await (await fetch(`${realm.issuer}/.well-known/openid-configuration`)).json()) as object;
    expect(metadata).toMatchObject({ issuer: realm.issuer, jwks_uri: realm.jwksUrl });
  });

  it.each(REALM_ALGS)('signs with %s, and its token is good', async (alg) => {
    const { status, body } = await echo(await realm.token(alg, edge.url));
    expect([status, body.result?.structuredContent]).toEqual([200, { text: 'x' }]);
  });

  it('gives rights by scopes alone: its roles make nobody an operator, and its browser session no agent', async () => {
    const token = await realm.token('ES256', edge.url);
    const { body } = await edge.call('whoami', {}, { token });
    expect(JSON.stringify(body.result.structuredContent)).not.toMatch(/operator|mcp:cortex:(admin|write)/);
    expect((await edge.call('sample_workspace', { title: 'x', workspace_id: 'w' }, { token })).status).toBe(403);
    const response = await fetch(`${edge.origin}/api/admin/explain`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-cortex-admin-secret': SECRET },
      body: JSON.stringify({ tool: 'sample_echo', token }),
    });
    expect(await response.json()).toMatchObject({
      callable: 'yes',
      caller: { kind: 'person', sub: 'ES256', session_id: null },
    });
  });

  it('P53 P54 a token of it for its own account pages, or for another resource, is none here', async () => {
    for (const aud of ['account', ['account', 'web'], 'https://other.example/mcp', undefined]) {
      const { status, body } = await echo(await realm.signed('RS256', claims({ aud })));
      expect([status, body.error_description]).toEqual([401, 'the audience of the token is not this server']);
    }
    expect((await echo(await realm.signed('RS256', claims({ aud: ['account', edge.url] })))).status).toBe(200);
    expect((await echo(await realm.token('RS256', 'https://other.example/mcp'))).status).toBe(401);
  });

  it('T01 is another issuer than the realm beside it, and than the server that it is on', async () => {
    const before = ran('sample_echo');
    for (const iss of [realm.issuer.replace('acme', 'other'), `${realm.issuer}/`, new URL(realm.issuer).origin])
      expect((await echo(await realm.signed('ES256', claims({ iss })))).status).toBe(401);
    expect(ran('sample_echo')).toBe(before);
  });

  it('P57 may have a clock that is a minute off', async () => {
    const now = Math.floor(Date.now() / 1000);
    expect((await echo(await realm.signed('PS256', claims({ iat: now + 50, nbf: now + 50 })))).status).toBe(200);
    expect((await echo(await realm.signed('EdDSA', claims({ exp: now - 50 })))).status).toBe(200);
    expect((await echo(await realm.signed('EdDSA', claims({ exp: now - 70 })))).status).toBe(401);
  });

  it('P56 may change its keys, also under the same ids, and nobody is refused', async () => {
    const old = await realm.token('ES256', edge.url);
    expect((await echo(old)).status).toBe(200);
    await realm.rotate(false);
    expect((await echo(await realm.token('ES256', edge.url))).status).toBe(200);
    expect((await echo(old)).status).toBe(401);
    await realm.rotate(true);
    for (const alg of REALM_ALGS)
      expect([alg, (await echo(await realm.token(alg, edge.url))).status]).toEqual([alg, 200]);
  });
});
