import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export interface TestIssuer extends AsyncDisposable {
  readonly url: string;
  /** A token of 5 minutes for `audience`; claims win over the defaults (`sub` alice, `client_id` cli). */
  token(audience: string, claims?: Record<string, unknown>): Promise<string>;
}

/** An authorization server that has a key set and signs what it is told to. */
export async function testIssuer(): Promise<TestIssuer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k1', use: 'sig', alg: 'RS256' }];
  const server = createServer((_req, res) =>
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    token: (audience, claims = {}) =>
      new SignJWT({ iss: url, aud: audience, sub: 'alice', client_id: 'cli', jti: randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
