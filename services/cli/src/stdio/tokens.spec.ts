import { JwksSource, TokenVerifier } from '@cortex/auth';
import { afterEach, expect, it, jest } from '@jest/globals';
import { renewing, throwAwayIssuer } from './tokens.js';

const audience = 'http://127.0.0.1:3213/mcp';

afterEach(() => void jest.useRealTimers());

it('a token of the throw-away issuer is verified with its key alone, for its resource, with the scopes that were asked for', async () => {
  await using issuer = await throwAwayIssuer();
  await using other = await throwAwayIssuer();
  const verify = (token: string, jwksUrl = issuer.jwksUrl, aud = audience) =>
    new TokenVerifier({ keys: new JwksSource({ url: jwksUrl }), issuer: issuer.url, audiences: [aud] }).verify(token);
  const token = issuer.tokenFor(audience, ['mcp:cortex:read', 'mcp:demo:read'])();
  const verified = await verify(token);
  if ('refused' in verified) throw new Error(verified.refused);
  const { sub, client_id, scope, jti, iat, exp } = verified.claims as Record<string, unknown>;
  expect({ sub, client_id, scope }).toEqual({
    sub: 'stdio-bridge',
    client_id: 'stdio-bridge',
    scope: 'mcp:cortex:read mcp:demo:read',
  });
  expect(Number(exp) - Number(iat)).toBe(3600);
  expect(jti).not.toBe('');
  expect(await verify(token, other.jwksUrl)).toHaveProperty('refused');
  expect(await verify(token, issuer.jwksUrl, 'http://127.0.0.1:9030/mcp')).toHaveProperty('refused');
});

it('the issuer serves its public key, and nothing of the private one', async () => {
  await using issuer = await throwAwayIssuer();
  const text = await (await fetch(issuer.jwksUrl)).text();
  expect(Object.keys(JSON.parse(text).keys[0]).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  expect((await fetch(issuer.url)).status).toBe(404);
});

it('a token is used for fifty minutes, and another one from then on', () => {
  jest.useFakeTimers({ now: 0 });
  let made = 0;
  const token = renewing(() => String(++made));
  expect([token(), token()]).toEqual(['1', '1']);
  jest.setSystemTime(49 * 60_000);
  expect(token()).toBe('1');
  jest.setSystemTime(50 * 60_000);
  expect(token()).toBe('2');
});
