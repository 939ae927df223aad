import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, postgresFixture, type PostgresFixture } from '@cortex/testing';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Kysely, PostgresDialect } from 'kysely';
import { config } from '../config.js';
import { mcpEdgeService } from '../mcp-edge.module.js';
import type { EdgeDb } from '../projections/tables.js';
import { HttpRefusal, type CallerContext, type ResourceKind } from '../seams.js';
import { settingsOf } from '../settings.js';
import { createAuthenticator } from './authenticator.js';
import { People } from './people.js';

const AUDIENCE = 'http://127.0.0.1:9030/mcp';
const keys = await generateKeyPair('RS256', { extractable: true });
const other = await generateKeyPair('RS256', { extractable: true });
let served: object[] = [{ ...(await exportJWK(keys.publicKey)), kid: 'k1' }];
let issuer: Server;
/** It answers that it cannot. */
let away = false;
let ISSUER: string;
let postgres: PostgresFixture;
let db: Kysely<EdgeDb>;

beforeAll(async () => {
  issuer = createServer((_, res) => {
    res.statusCode = away ? 503 : 200;
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: served }));
  });
  await new Promise<void>((done) => issuer.listen(0, '127.0.0.1', done));
  ISSUER = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  postgres = await postgresFixture([mcpEdgeService]);
  db = new Kysely<EdgeDb>({ dialect: new PostgresDialect({ pool: postgres.pool('mcp_edge') }) });
});
afterAll(async () => {
  issuer.close();
  await postgres[Symbol.asyncDispose]();
});

const STATE_KEY = Buffer.alloc(32).toString('base64');

function edge(env: Record<string, string> = {}) {
  const settings = settingsOf(config.parse({ OAUTH_ISSUER: ISSUER, ...env }), {
    auditHashKey: 'k',
    stateKey: STATE_KEY,
    version: '1',
  });
  const logs: string[] = [];
  const refused: string[] = [];
  const auth = createAuthenticator({
    settings,
    people: new People({ db, log: () => undefined }),
    bus: undefined as never, // asked for the keys of session tokens alone, which have a spec of their own
    views: undefined as never,
    log: (level, message) => void logs.push(`${level}: ${message}`),
    onRefused: (reason) => void refused.push(reason),
  });
  return { auth, logs, refused };
}

const req = (headers: Record<string, string>, url = '/mcp', remoteAddress = '127.0.0.1') =>
  ({ headers: { host: '127.0.0.1:9030', ...headers }, url, socket: { remoteAddress } }) as unknown as IncomingMessage;

const token = (claims: object = {}, key = keys.privateKey, kid = 'k1') =>
  new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: 'alice', jti: 'j', client_id: 'cli', ...claims })
    .setProtectedHeader({ alg: 'RS256', kid })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(key);

type Auth = ReturnType<typeof edge>['auth'];
const ask = async (auth: Auth, bearer: string | undefined, resource: ResourceKind = 'mcp', more: object = {}) =>
  auth.authenticate(req({ ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }), ...more }), resource);

const caller = (answer: CallerContext | HttpRefusal): CallerContext => {
  if (answer instanceof HttpRefusal) throw new Error(answer.body);
  return answer;
};
const refusal = (answer: CallerContext | HttpRefusal): HttpRefusal => {
  if (answer instanceof HttpRefusal) return answer;
  throw new Error('was let in');
};

describe('a caller', () => {
  it('is a person of the bus with rights of the token, and the same object while the token is cached', async () => {
    const { auth } = edge();
    const jwt = await token({ scope: 'mcp:cortex:devices', email: 'a@x', metadata: { role: 'dev' } });
    const who = caller(await ask(auth, jwt));
    expect(who).toMatchObject({
      kind: 'person',
      sub: 'alice',
      client_id: 'cli',
      email: 'a@x',
      role: 'dev',
      audience: AUDIENCE,
      dev_bypass: false,
      principal: { type: 'user', roles: ['dev'] },
      scopes_key: 'mcp:cortex:devices mcp:cortex:devices:exec mcp:cortex:devices:read mcp:cortex:devices:write',
    });
    expect(who.principal.id).toBe(who.person_id);
    expect(JSON.parse(who.principal_json)).toEqual(who.principal);
    expect(auth.authenticate(req({ authorization: `bearer  ${jwt}` }), 'mcp')).toBe(who);
  });

  it('is operator by the admin scope or as the owner at the configured issuer, and not because a token says so', async () => {
    const { auth } = edge({ CORTEX_OWNER_SUB: 'olga' });
    const roles = async (claims: object) => caller(await ask(auth, await token(claims))).principal.roles;
    expect(await roles({ scope: 'mcp:cortex:admin' })).toEqual(['operator']);
    expect(await roles({ sub: 'olga' })).toEqual(['operator']);
    expect(await roles({ metadata: { role: 'operator' } })).toEqual([]);
    expect(await roles({ metadata: { role: 'dev' }, scope: 'mcp:cortex:admin' })).toEqual(['dev', 'operator']);
    expect(await roles({ sub: 'Olga' })).toEqual([]);
    const nobody = edge();
    expect(caller(await ask(nobody.auth, await token({ sub: 'owner' }))).principal.roles).toEqual([]);
  });

  it('T03 with the same sub and another client has another caller key, and is the same person', async () => {
    const { auth } = edge();
    const [a, b] = [caller(await ask(auth, await token())), caller(await ask(auth, await token({ client_id: 'web' })))];
    expect(a.caller_key).not.toBe(b.caller_key);
    expect(a.caller_hash).not.toBe(b.caller_hash);
    expect(a.person_id).toBe(b.person_id);
  });

  it('T01 is refused whatever was cached before, and no refusal is cached', async () => {
    const { auth, refused } = edge();
    caller(await ask(auth, await token()));
    expect(refusal(await ask(auth, await token({}, other.privateKey))).status).toBe(401);
    expect(refusal(await ask(auth, await token({ aud: 'http://127.0.0.1:9030/other' }))).body).toContain('audience');
    expect(refused).toEqual(['signature', 'audience']);
  });

  it('P56 is let in with a key that came after the start', async () => {
    const { auth } = edge();
    caller(await ask(auth, await token()));
    served = [{ ...(await exportJWK(other.publicKey)), kid: 'k2' }];
    caller(await ask(auth, await token({}, other.privateKey, 'k2')));
    served = [{ ...(await exportJWK(keys.publicKey)), kid: 'k1' }];
  });

  it('is told to come back while there are no keys to judge by, and guesses nothing by it', async () => {
    const { auth, refused } = edge({ CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '1' });
    away = true;
    const jwt = await token();
    for (let time = 0; time < 3; time++) {
      const { status, headers, body } = refusal(await ask(auth, jwt));
      expect([status, headers]).toEqual([503, { 'Retry-After': '5' }]);
      expect(JSON.parse(body)).toEqual({
        error: 'temporarily_unavailable',
        error_description: 'the keys of the issuer cannot be fetched just now',
      });
    }
    expect(refused).toEqual(['no_keys', 'no_keys', 'no_keys']);
    away = false;
    await eventually(async () => !((await ask(auth, jwt)) instanceof HttpRefusal));
  });

  it.each(['http://localhost:9030/mcp', 'http://[::1]:9030/mcp', 'http://127.0.0.1:9030/mcp/'])(
    'may be meant for %s: the loopback names are one resource, with or without a slash',
    async (aud) => expect(caller(await ask(edge().auth, await token({ aud }))).sub).toBe('alice'),
  );

  it('with a token for /sse is let in there and nowhere else', async () => {
    const { auth } = edge();
    const jwt = await token({ aud: 'http://localhost:9030/sse' });
    expect(refusal(await ask(auth, jwt)).status).toBe(401);
    caller(await ask(auth, jwt, 'sse'));
    expect(refusal(await ask(auth, jwt)).status).toBe(401);
    caller(await ask(auth, await token(), 'sse'));
  });
});

describe('P55 every 401 says where to go on', () => {
  const challengeOf = async (bearer: string | undefined, env = {}, more: object = {}, url?: string) => {
    const answer = await edge(env).auth.authenticate(
      req({ ...(bearer !== undefined && { authorization: bearer }), ...more }, url),
      url?.startsWith('/sse') ? 'sse' : 'mcp',
    );
    const { status, body, headers } = refusal(answer);
    return { status, body: JSON.parse(body) as Record<string, string>, challenge: headers['WWW-Authenticate'] };
  };
  const metadata = 'resource_metadata="http://127.0.0.1:9030/.well-known/oauth-protected-resource/mcp"';

  it('without a token', async () => {
    const { status, body, challenge } = await challengeOf(undefined);
    expect([status, body.error, challenge]).toEqual([401, 'unauthorized', `Bearer ${metadata}`]);
  });

  it('with the baseline scopes where there are any', async () => {
    const { challenge } = await challengeOf(undefined, { OAUTH_REQUIRED_SCOPES: 'a,b' });
    expect(challenge).toBe(`Bearer scope="a b", ${metadata}`);
  });

  it('with a bad token, in words and without a byte of it', async () => {
    const jwt = await token({ exp: 1 }, other.privateKey);
    const { body, challenge } = await challengeOf(`Bearer ${jwt}`);
    expect(body).toEqual({ error: 'invalid_token', error_description: 'the signature of the token does not fit' });
    expect(challenge).toContain('error="invalid_token", error_description="the signature');
    expect(challenge).not.toContain(jwt.slice(0, 10));
  });

  it('P53 naming the audience when that is what is wrong', async () => {
    const { body } = await challengeOf(`Bearer ${await token({ aud: 'cli' })}`);
    expect(body.error_description).toContain('audience');
  });

  it.each(['localhost', '[::1]'])('by the loopback name %s that the client used', async (name) => {
    const { challenge } = await challengeOf(undefined, {}, { host: `${name}:9030` });
    expect(challenge).toContain(`"http://${name}:9030/.well-known/`);
  });

  it('naming the document of /sse there', async () => {
    const { challenge } = await challengeOf(undefined, {}, {}, '/sse');
    expect(challenge).toContain('/.well-known/oauth-protected-resource/sse"');
  });

  it.each([
    ['missing', undefined, '/mcp'],
    ['missing', 'Basic abc', '/mcp'],
    ['in_query', undefined, '/mcp?access_token=abc'],
    ['malformed', 'Bearer', '/mcp'],
    ['malformed', 'Bearer a b', '/mcp'],
    ['malformed', 'Bearer ö', '/mcp'],
  ])('counting %s for %j at %s', async (reason, authorization, url) => {
    const { auth, refused } = edge();
    await auth.authenticate(req({ ...(authorization !== undefined && { authorization }) }, url), 'mcp');
    expect(refused).toEqual([reason]);
  });
});

it('a token that lacks the scopes of an item is told of them in one challenge, baseline and item', () => {
  const { auth } = edge({ OAUTH_REQUIRED_SCOPES: 'base' });
  const headers = auth.scopeChallenge(req({}), ['x"', 'base']);
  expect(headers['WWW-Authenticate']).toContain('error="insufficient_scope", scope="base x"');
});

describe('failed authentications', () => {
  it('of one address are limited, and a good token of another address is not', async () => {
    const { auth } = edge({ CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '3' });
    for (let i = 0; i < 3; i++) expect(refusal(await ask(auth, 'x.y.z')).status).toBe(401);
    const limited = refusal(await ask(auth, 'x.y.z'));
    expect(limited.status).toBe(429);
    expect(Number(limited.headers['Retry-After'])).toBeGreaterThan(0);
    const elsewhere = req({ authorization: `Bearer ${await token()}` }, '/mcp', '10.0.0.9');
    expect(caller(await auth.authenticate(elsewhere, 'mcp')).sub).toBe('alice');
  });
  it('shut out nobody at the same address whose token is known to be good', async () => {
    const { auth } = edge({ CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE: '3' });
    const good = await token();
    expect(caller(await ask(auth, good)).sub).toBe('alice');
    for (let i = 0; i < 4; i++) await ask(auth, 'x.y.z');
    expect(caller(await ask(auth, good)).sub).toBe('alice');
    expect(refusal(await ask(auth, await token({ sub: 'bob' }))).status).toBe(429);
  });
});

it('T02 an issuer that may be away is warned of at the start, and only then', () => {
  const introspected = {
    OAUTH_INTROSPECT_URL: `${ISSUER}/introspect`,
    OAUTH_INTROSPECT_CLIENT_ID: 'cortex',
    OAUTH_INTROSPECT_CLIENT_SECRET: 's',
  };
  const open = edge({ ...introspected, OAUTH_INTROSPECT_FAIL_MODE: 'open' });
  expect(open.logs).toEqual([expect.stringMatching(/^warn: OAUTH_INTROSPECT_FAIL_MODE is open/)]);
  expect(edge(introspected).logs).toEqual([]);
});

it('a scope hierarchy that cannot be read is a bad variable, named at the start', () => {
  const { error } = config.safeParse({ OAUTH_ISSUER: ISSUER, CORTEX_SCOPE_IMPLIES: 'all=a; oops' });
  expect(error?.issues).toMatchObject([{ path: ['CORTEX_SCOPE_IMPLIES'], message: expect.stringContaining('"oops"') }]);
});

describe('the development bypass', () => {
  const env = { CORTEX_DEV_BYPASS_TOKEN: 'dev-secret', CORTEX_DEV_BYPASS_SCOPES: 'mcp:cortex:read' };
  const mode = { 'x-dev-mode': 'dev-secret' };

  it('makes a caller of its own, with a warning for each use', async () => {
    const { auth, logs } = edge(env);
    const who = caller(await ask(auth, undefined, 'mcp', mode));
    expect(who).toMatchObject({
      kind: 'dev',
      sub: 'dev:local',
      issuer: 'dev',
      client_id: 'dev-bypass',
      email: 'dev@localhost',
      role: 'admin',
      jti: null,
      exp: Infinity,
      dev_bypass: true,
      scopes_key: 'mcp:cortex:read',
    });
    expect(await ask(auth, undefined, 'mcp', mode)).toBe(who);
    expect(logs.filter((line) => line.startsWith('warn'))).toHaveLength(2);
  });

  it.each([
    ['another token', env, { 'x-dev-mode': 'dev-secret2' }, '127.0.0.1'],
    ['another host name', env, { ...mode, host: 'mcp.example' }, '127.0.0.1'],
    ['another machine', env, mode, '10.0.0.5'],
    ['a proxy', env, { ...mode, 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1'],
    ['no token set', {}, mode, '127.0.0.1'],
    ['an empty token set', { CORTEX_DEV_BYPASS_TOKEN: '' }, { 'x-dev-mode': '' }, '127.0.0.1'],
  ])('stays off with %s', async (_, settings, headers, peer) => {
    const answer = await edge(settings).auth.authenticate(req(headers, '/mcp', peer), 'mcp');
    expect(refusal(answer).status).toBe(401);
  });

  it('stays off in production, and an error says that it is set', async () => {
    const production = {
      NODE_ENV: 'production',
      CORTEX_AUDIT_HASH_KEY: 'k',
      CORTEX_CANONICAL_URI: 'https://a.b/mcp',
      CORTEX_STATE_KEY: STATE_KEY,
      ...env,
    };
    const { auth, logs } = edge(production);
    expect(refusal(await ask(auth, undefined, 'mcp', mode)).status).toBe(401);
    expect(logs).toEqual([expect.stringMatching(/^error: CORTEX_DEV_BYPASS_TOKEN/)]);
  });
});
