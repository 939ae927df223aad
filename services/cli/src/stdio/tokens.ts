import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { issuerKey } from '../secrets.js';
import { signToken } from '../token.js';

/** Seconds that a token lives, and before whose end it is replaced. */
export const TOKEN_S = 3_600;
const RENEW_S = 600;
/** `sub` of whoever speaks through a bridge with a gateway of its own. */
export const BRIDGE_SUBJECT = 'stdio-bridge';

/** The same token until ten minutes before its end, then another one. */
export function renewing(make: () => string): () => string {
  let token = '';
  let renewAt = 0;
  return () => {
    if (Date.now() >= renewAt) {
      token = make();
      renewAt = Date.now() + (TOKEN_S - RENEW_S) * 1000;
    }
    return token;
  };
}

/** The only authorization server that a bridge's own gateway believes. */
export interface ThrowAwayIssuer extends AsyncDisposable {
  readonly url: string;
  readonly jwksUrl: string;
  /** A valid token for the resource. */
  tokenFor(audience: string, scopes: readonly string[]): () => string;
}

/**
 * An authorization server for as long as this process lives: a key that is in its memory alone, whose public half is served on a port of
 * loopback that the system chose.
 */
export async function throwAwayIssuer(): Promise<ThrowAwayIssuer> {
  const key = await issuerKey();
  const { kty, n, e, kid, alg, use } = key.private_jwk;
  const jwks = JSON.stringify({ keys: [{ kty, n, e, kid, alg, use }] });
  const path = '/.well-known/jwks.json';
  const server = createServer(({ url }, res) =>
    url === path
      ? res.writeHead(200, { 'content-type': 'application/json' }).end(jwks)
      : res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_found"}'),
  );
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    jwksUrl: url + path,
    tokenFor: (audience, scopes) =>
      renewing(() => {
        const now = Math.floor(Date.now() / 1000);
        return signToken(key, {
          iss: url,
          aud: audience,
          sub: BRIDGE_SUBJECT,
          client_id: BRIDGE_SUBJECT,
          scope: scopes.join(' '),
          jti: randomUUID(),
          iat: now,
          exp: now + TOKEN_S,
        });
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
