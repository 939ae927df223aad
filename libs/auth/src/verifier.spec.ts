import { describe, expect, it } from '@jest/globals';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import { createHmac } from 'node:crypto';
import { JwksSource } from './jwks.js';
import { isRefusal } from './refusal.js';
import { TokenVerifier, type VerifierOptions } from './verifier.js';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'https://cortex.example/mcp';
const NOW = 1_800_000_000;

const [main, other, ec] = await Promise.all([
  generateKeyPair('RS256', { extractable: true }),
  generateKeyPair('RS256', { extractable: true }),
  generateKeyPair('ES256', { extractable: true }),
]);
const jwk = async (key: CryptoKey, kid: string) => ({ ...(await exportJWK(key)), kid, use: 'sig' });

function keysOf(...keys: object[]) {
  return new JwksSource({
    url: 'http://issuer.invalid/jwks',
    fetch: async () => Response.json({ keys }),
    now: () => NOW * 1000,
  });
}

const one = keysOf({ ...(await jwk(main.publicKey, 'k1')), alg: 'RS256' });

const verifier = (options: Partial<VerifierOptions> = {}) =>
  new TokenVerifier({ keys: one, issuer: ISSUER, audiences: [AUDIENCE], now: () => NOW * 1000, ...options });

const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', jti: 'j1', iat: NOW, exp: NOW + 300, client_id: 'cli' };

function sign(claims: JWTPayload = {}, header: Record<string, unknown> = {}, key: CryptoKey = main.privateKey) {
  return new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header }).sign(key);
}

async function reason(token: string, options?: Partial<VerifierOptions>): Promise<string> {
  const answer = await verifier(options).verify(token);
  return isRefusal(answer) ? answer.refused : 'accepted';
}

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token', () => {
  it('is read with all its claims', async () => {
    const token = await sign(
      { scope: 'mcp:cortex:read extra', email: 'a@x.example', name: 'Alice', pool: 'p', metadata: { role: 'dev' } },
      { typ: 'at+jwt' },
    );
    expect(await verifier().verify(token)).toMatchObject({
      issuer: ISSUER,
      sub: 'alice',
      client_id: 'cli',
      email: 'a@x.example',
      name: 'Alice',
      pool: 'p',
      role: 'dev',
      jti: 'j1',
      kid: 'k1',
      exp: NOW + 300,
      audiences: [AUDIENCE],
      scopes: new Set(['mcp:cortex:read', 'extra']),
    });
  });

  it('reads missing optional claims as empty strings, azp for client_id and scp for scope', async () => {
    const token = await sign({ client_id: undefined, azp: 'app', scp: ['a', 7, 'b'] });
    expect(await verifier().verify(token)).toMatchObject({
      client_id: 'app',
      email: '',
      name: '',
      pool: '',
      role: '',
      scopes: new Set(['a', 'b']),
    });
  });

  it('has its scopes expanded, by the built-in hierarchy and the deployment’s', async () => {
    const token = await sign({ scope: 'all mcp:cortex:devices' });
    const answer = await verifier({ scopeImplies: { all: ['some'], some: ['one', 'all'] } }).verify(token);
    expect([...(isRefusal(answer) ? [] : answer.scopes)].sort()).toEqual([
      'all',
      'mcp:cortex:devices',
      'mcp:cortex:devices:exec',
      'mcp:cortex:devices:read',
      'mcp:cortex:devices:write',
      'one',
      'some',
    ]);
  });

  it('of a person never becomes an agent’s by a sid claim', async () => {
    const token = await sign({ sid: 's1' });
    expect(await verifier().verify(token)).not.toHaveProperty('sid');
    const typed = { typ: 'at+jwt' };
    expect(await verifier({ kind: 'session' }).verify(await sign({ sid: 's1' }, typed))).toMatchObject({ sid: 's1' });
    expect(await reason(await sign({}, typed), { kind: 'session' })).toBe('malformed');
  });

  it.each([{}, { typ: 'JWT' }, { typ: 'id_token' }])(
    'of a session is an access token and says so, not %j',
    async (header) => {
      expect(await reason(await sign({ sid: 's1' }, header), { kind: 'session' })).toBe('malformed');
    },
  );

  it.each([
    ['an array', [AUDIENCE, 'https://other.example']],
    ['a string', AUDIENCE],
  ])('may name its audience as %s', async (_, aud) => expect(await reason(await sign({ aud }))).toBe('accepted'));

  it.each(['JWT', 'jwt', 'AT+JWT', undefined])('may have the type %s', async (typ) =>
    expect(await reason(await sign({}, { typ }))).toBe('accepted'),
  );

  it('needs no kid when exactly one key fits', async () => {
    const bare = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'RS256' }).sign(main.privateKey);
    expect(await reason(bare)).toBe('accepted');
    const two = keysOf(await jwk(main.publicKey, 'k1'), await jwk(other.publicKey, 'k2'));
    expect(await reason(bare, { keys: two })).toBe('unknown_key');
  });

  it('without jti is known by its hash where the deployment allows it', async () => {
    const token = await sign({ jti: undefined });
    expect(await verifier({ requireJti: false }).verify(token)).toMatchObject({
      jti: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('P57 survives 60 s of clock skew and no more, and the skew is counted', async () => {
    let skewed = 0;
    const onSkew = () => void skewed++;
    expect(await reason(await sign({ iat: NOW + 4 }), { onSkew })).toBe('accepted');
    expect(await reason(await sign({ nbf: NOW + 59 }), { onSkew })).toBe('accepted');
    expect(await reason(await sign({ exp: NOW - 59 }), { onSkew })).toBe('accepted');
    expect(skewed).toBe(3);
    expect(await reason(await sign(), { onSkew })).toBe('accepted');
    expect(skewed).toBe(3);
    expect(await reason(await sign({ nbf: NOW + 61 }))).toBe('not_yet_valid');
    expect(await reason(await sign({ exp: NOW - 60 }))).toBe('expired');
  });
});

describe('T01 refuses', () => {
  it('an unsigned token, also one that names RS256', async () => {
    expect(await reason(`${b64({ alg: 'none' })}.${b64(CLAIMS)}.`)).toBe('alg');
    expect(await reason(`${b64({ alg: 'RS256', kid: 'k1' })}.${b64(CLAIMS)}.`)).toBe('signature');
    expect(await reason(`${b64({ alg: 'RS256', kid: 'k1' })}.${b64(CLAIMS)}`)).toBe('malformed');
  });

  it('a token signed with the public key as HMAC secret', async () => {
    const signed = `${b64({ alg: 'HS256', kid: 'k1' })}.${b64(CLAIMS)}`;
    const mac = createHmac('sha256', await exportSPKI(main.publicKey))
      .update(signed)
      .digest('base64url');
    expect(await reason(`${signed}.${mac}`)).toBe('alg');
  });

  it('HMAC and none even when the deployment lists them', () => {
    for (const alg of ['HS256', 'none', 'rs256']) expect(() => verifier({ algs: [alg] })).toThrow(alg);
  });

  it('an algorithm that is not listed, and a key of another algorithm', async () => {
    const token = await new SignJWT(CLAIMS).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(ec.privateKey);
    expect(await reason(token)).toBe('alg');
    expect(await reason(token, { algs: ['RS256', 'ES256'] })).toBe('unknown_key');
    expect(await reason(token, { algs: ['ES256'], keys: keysOf(await jwk(ec.publicKey, 'k1')) })).toBe('accepted');
  });

  it('a key that the token brings itself', async () => {
    const header = { jwk: await exportJWK(other.publicKey), jku: 'https://evil.example/jwks', kid: 'k1' };
    expect(await reason(await sign({}, header, other.privateKey))).toBe('signature');
  });

  it('a foreign signature and changed claims', async () => {
    expect(await reason(await sign({}, {}, other.privateKey))).toBe('signature');
    const [head, , signature] = (await sign()).split('.');
    expect(await reason(`${head}.${b64({ ...CLAIMS, sub: 'root' })}.${signature}`)).toBe('signature');
  });

  it.each([
    ['issuer', { iss: 'https://issuer.example/' }],
    ['issuer', { iss: undefined }],
    ['audience', { aud: 'https://other.example/mcp' }],
    ['audience', { aud: 'cli' }],
    ['audience', { aud: [] }],
    ['audience', { aud: undefined }],
    ['audience', { aud: `${AUDIENCE}/` }],
    ['expired', { exp: NOW - 3600 }],
    ['malformed', { exp: undefined }],
    ['not_yet_valid', { iat: NOW + 3600 }],
    ['no_sub', { sub: '' }],
    ['no_sub', { sub: undefined }],
    ['no_jti', { jti: undefined }],
    ['malformed', { sub: 'alice\u0000' }],
  ])('%s: %j', async (expected, claims) => expect(await reason(await sign(claims))).toBe(expected));

  it('an id token or any other type', async () => {
    expect(await reason(await sign({}, { typ: 'secevent+jwt' }))).toBe('malformed');
  });

  it.each([
    ['typ', {}, { typ: 'ID' }],
    ['exp', { exp: undefined }, {}],
    ['sub', { sub: 'a\u0000' }, {}],
  ])(
    'that is signed well and lacks what is asked of %s says so, for whoever sets an issuer right',
    async (claim, claims, header) => {
      const refusal = await verifier().verify(await sign(claims, header));
      expect(refusal).toMatchObject({ refused: 'malformed', description: expect.stringContaining(claim) });
    },
  );

  it('critical headers that it does not know', async () => {
    const [, payload] = (await sign()).split('.');
    const head = b64({ alg: 'RS256', kid: 'k1', crit: ['x'], x: 1 });
    expect(await reason(`${head}.${payload}.AAAA`)).toBe('malformed');
  });

  it.each([
    '',
    'x',
    'a.b',
    '..',
    'a.b.c.d',
    `${b64([])}.${b64({})}.AA`,
    `${b64({ alg: 7 })}.${b64({})}.AA`,
    '💥.💥.💥',
  ])('what is no token: %j', async (token) => expect(['malformed', 'alg']).toContain(await reason(token)));

  it('more than 8 KiB', async () => {
    expect(await reason(await sign({ filler: 'x'.repeat(8192) }))).toBe('too_large');
  });
});

describe('P56 a key id that the issuer uses again', () => {
  it('is good with the new key at once, and no longer with the old one', async () => {
    let served = await jwk(main.publicKey, 'k1');
    let fetches = 0;
    const keys = new JwksSource({
      url: 'http://issuer.invalid/jwks',
      fetch: async () => {
        fetches++;
        return Response.json({ keys: [served] });
      },
      now: () => NOW * 1000,
    });
    expect(await reason(await sign(), { keys })).toBe('accepted');
    served = await jwk(other.publicKey, 'k1');
    const renewed = await Promise.all([1, 2, 3].map(() => sign({}, {}, other.privateKey)));
    for (const token of renewed) expect(await reason(token, { keys })).toBe('accepted');
    expect(await reason(await sign(), { keys })).toBe('signature');
    expect(fetches).toBe(2);
  });
});
