import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { freePort } from '@cortex/embedded/ports';
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { Provider, type JWK as ProviderKey } from 'oidc-provider';

export const REALM_ALGS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type RealmAlg = (typeof REALM_ALGS)[number];
const PATH = '/realms/acme';
const OPENID = '/protocol/openid-connect';
const SECRET = 'of the client';

/** An authorization server shaped like Keycloak: a realm below a path, key set and endpoints elsewhere than ours, claims as Keycloak writes them. */
export interface Realm extends AsyncDisposable {
  readonly issuer: string;
  readonly jwksUrl: string;
  /** By client credentials, the way that the metadata of the realm says; `client_id` is the algorithm that signs. */
  token(alg: RealmAlg, resource: string, scope?: string): Promise<string>;
  /** Signed with the realm's own key: for claims that the realm would not write. */
  signed(alg: RealmAlg, claims: Record<string, unknown>): Promise<string>;
  /** Other keys; under the ids of those before where `sameIds` is true. */
  rotate(sameIds: boolean): Promise<void>;
}

export async function startRealm(): Promise<Realm> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}${PATH}`;
  let round = 0;
  let keys = await makeKeys(round);
  let answer = providerOf(issuer, keys).callback();
  const server = createServer((req: IncomingMessage & { originalUrl?: string }, res) => {
    if (req.url?.startsWith(PATH) !== true) return void res.writeHead(404).end();
    req.originalUrl = req.url;
    req.url = req.url.slice(PATH.length) || '/';
    void answer(req, res);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    jwksUrl: `${issuer}${OPENID}/certs`,
    async token(alg, resource, scope = 'mcp:cortex:read') {
      const metadata = await fetch(`${issuer}/.well-known/openid-configuration`);
      const { token_endpoint } = (await metadata.json()) as { token_endpoint: string };
      const response = await fetch(token_endpoint, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${alg}:${encodeURIComponent(SECRET)}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
      });
      const body = (await response.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(`the realm gave no token: ${JSON.stringify(body)}`);
      return body.access_token;
    },
    async signed(alg, claims) {
      const jwk = keys.find((key) => key.alg === alg)!;
      return new SignJWT(claims).setProtectedHeader({ alg, typ: 'JWT', kid: jwk.kid! }).sign(await importJWK(jwk, alg));
    },
    async rotate(sameIds) {
      keys = await makeKeys(sameIds ? round : ++round);
      answer = providerOf(issuer, keys).callback();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One key of each kind, and as at Keycloak one that encrypts and must sign nothing. */
const makeKeys = async (round: number): Promise<JWK[]> => [
  ...(await Promise.all(REALM_ALGS.map((alg) => makeKey(alg, `${alg}-${round}`)))),
  { ...(await makeKey('RSA-OAEP', `enc-${round}`)), use: 'enc' },
];

async function makeKey(alg: string, kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

function providerOf(issuer: string, keys: JWK[]): Provider {
  return new Provider(issuer, {
    jwks: { keys: keys as ProviderKey[] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    routes: { authorization: `${OPENID}/auth`, token: `${OPENID}/token`, jwks: `${OPENID}/certs` },
    scopes: ['mcp:cortex:read', 'mcp:cortex:write'],
    clients: REALM_ALGS.map((alg) => ({
      client_id: alg,
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    })),
    // What a realm writes into a token and Cortex must not read as rights.
    extraTokenClaims: (_ctx, token) => ({
      azp: token.clientId,
      typ: 'Bearer',
      sid: 'b6e1-browser-session',
      preferred_username: 'ana',
      email: 'ana@acme.example',
      realm_access: { roles: ['operator', 'admin', 'mcp:cortex:admin', 'mcp:cortex:write'] },
      resource_access: { account: { roles: ['manage-account'] } },
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      // Without it the library refuses a key that encrypts.
      encryption: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource, client) => ({
          scope: 'mcp:cortex:read mcp:cortex:write',
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: client.clientId as RealmAlg } },
        }),
      },
    },
  });
}
