import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { JwksSource, TokenVerifier, type VerifiedToken } from '@cortex/auth';
import { freePort } from '@cortex/embedded/ports';
import { tempDir } from '@cortex/testing';
import { RawClient } from '../faults/browser.js';
import { startIssuer, type Issuer, type IssuerOptions } from './issuer.js';

const kid = 'k1';
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const private_jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' };
const canonicalUri = 'http://127.0.0.1:9030/mcp';

let options: IssuerOptions;
let issuer: Issuer;
const told: string[] = [];
beforeAll(async () => {
  const dir = await tempDir('issuer');
  options = {
    port: await freePort(),
    key: { kid, private_jwk },
    file: join(dir, 'logins.json'),
    canonicalUri,
    audience: canonicalUri,
    owner: 'owner',
    env: {},
    tell: (text) => told.push(text),
  };
  issuer = await startIssuer(options);
});
afterAll(() => issuer.close());

const verified = async (token: string): Promise<VerifiedToken> => {
  const keys = new JwksSource({ url: `${issuer.url}/.well-known/jwks.json` });
  const result = await new TokenVerifier({ keys, issuer: issuer.url, audiences: [canonicalUri] }).verify(token);
  if ('refused' in result) throw new Error(result.refused);
  return result;
};

describe('a login', () => {
  it('gives a token that the edge takes: for the owner, the canonical URI and the default scopes', async () => {
    const client = await RawClient.make(issuer.url);
    const { status, body } = await client.exchange(await client.code(issuer.loginCode));
    expect({ status, body }).toMatchObject({ status: 200 });
    const { sub, client_id, audiences, scopes } = await verified(body.access_token);
    expect({ sub, client_id, audiences }).toEqual({ sub: 'owner', client_id: client.id, audiences: [canonicalUri] });
    expect([...scopes]).toEqual(expect.arrayContaining(['mcp:cortex:read', 'mcp:cortex:write', 'mcp:cortex:devices']));
  });
});
