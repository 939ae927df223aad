import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';

export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  /** Requests for the key set so far. */
  readonly fetches: number;
  /** Of the key that signs now. */
  readonly publicKey: CryptoKey;
  /** A token of 5 minutes for `audience`; claims win over the defaults (`sub` alice, `client_id` cli), undefined leaves one out. */
  token(audience: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
  /** From now on another key is served, and signs. */
  rotate(): Promise<void>;
}

/** An authorization server that has a key set and signs what it is told to. */
export async function testIssuer(): Promise<TestIssuer> {
  let serial = 0;
  let fetches = 0;
  const make = async () => ({ ...(await generateKeyPair('RS256', { extractable: true })), kid: `k${++serial}` });
  let key = await make();
  const server = createServer((_req, res) => {
    fetches++;
    void exportJWK(key.publicKey).then((jwk) => {
      const keys = [{ ...jwk, kid: key.kid, use: 'sig', alg: 'RS256' }];
      res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
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
    async rotate() {
      key = await make();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
