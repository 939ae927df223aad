import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { rsaKey } from '@cortex/testing/rsa-key';
import { decodeJwt, exportJWK, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';

export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  /** Requests for the key set so far. */
  readonly fetches: number;
  /** Of the key that signs now. */
  readonly publicKey: CryptoKey;
  /** A token of 5 minutes for `audience`; claims win over the defaults (`sub` alice, `client_id` cli), undefined leaves one out. */
  token(audience: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** From now on another key is served, and signs; under the id of the one before where `sameId` is true. */
  rotate(sameId?: boolean): Promise<void>;
  /** `jti` of tokens that `/introspect` calls inactive. */
  readonly revoked: Set<string>;
  /** What `/introspect` answers instead of a verdict; undefined, a verdict. */
  introspectStatus: number | undefined;
  /** Requests for a verdict so far. */
  readonly introspections: number;
}

/** Whom `/introspect` answers. */
export const INTROSPECTION_CLIENT = { id: 'cortex', secret: 'of the edge' };

/** An authorization server that has a key set and signs what it is told to. */
export async function testIssuer(): Promise<TestIssuer> {
  let serial = 0;
  let fetches = 0;
  const make = async () => {
    const jwk = await rsaKey();
    const { kty, n, e } = jwk;
    const [privateKey, publicKey] = await Promise.all([jwk, { kty, n, e }].map(imported));
    return { privateKey: privateKey!, publicKey: publicKey!, kid: `k${++serial}` };
  };
  let key = await make();
  let introspections = 0;
  const { id, secret } = INTROSPECTION_CLIENT;
  const basic = `Basic ${Buffer.from(`${id}:${secret.replaceAll(' ', '+')}`).toString('base64')}`;
  const introspect = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    introspections++;
    const asked = new URLSearchParams(await text(req)).get('token') ?? '';
    if (req.headers.authorization !== basic) return void res.writeHead(401).end();
    if (issuer.introspectStatus !== undefined) return void res.writeHead(issuer.introspectStatus).end();
    const active = !issuer.revoked.has(String(decodeJwt(asked).jti));
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ active }));
  };
  const server = createServer((req, res) => {
    if (req.url === '/introspect') return void introspect(req, res);
    fetches++;
    void exportJWK(key.publicKey).then((jwk) => {
      const keys = [{ ...jwk, kid: key.kid, use: 'sig', alg: 'RS256' }];
      res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: TestIssuer = {
    url,
    revoked: new Set(),
    introspectStatus: undefined,
    get introspections() {
      return introspections;
    },
    get fetches() {
      return fetches;
    },
    get publicKey() {
      return key.publicKey;
    },
    token(audience, claims = {}, header = {}) {
      const iat = Math.floor(Date.now() / 1000);
      const usual = { iss: url, aud: audience, sub: 'alice', client_id: 'cli', jti: randomUUID(), iat, exp: iat + 300 };
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: key.kid, ...header })
        .sign(key.privateKey);
    },
    async rotate(sameId = false) {
      const { kid } = key;
      key = { ...(await make()), ...(sameId && { kid }) };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

const imported = (jwk: JWK) => importJWK(jwk, 'RS256', { extractable: true }) as Promise<CryptoKey>;
