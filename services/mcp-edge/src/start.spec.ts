import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { config, openConfig } from './config.js';
import { settingsOf, startWarnings } from './settings.js';

const KEY = randomBytes(32).toString('base64');
const OF_HOME = { version: '1', auditHashKey: 'k', stateKey: KEY };
const DEVELOPMENT = { OAUTH_ISSUER: 'http://127.0.0.1:9031' };
const PRODUCTION = {
  NODE_ENV: 'production',
  OAUTH_ISSUER: 'https://id.example',
  CORTEX_CANONICAL_URI: 'https://cortex.example/mcp',
  CORTEX_STATE_KEY: KEY,
  CORTEX_AUDIT_HASH_KEY: 'k',
};
const start = (env: Record<string, string>, extras: object = OF_HOME) =>
  settingsOf(openConfig.parse(env) as never, { ...OF_HOME, ...extras });

describe('a start', () => {
  it('needs an issuer and nothing else outside production', () => {
    expect(start(DEVELOPMENT)).toMatchObject({ canonicalUri: 'http://127.0.0.1:9030/mcp', host: '127.0.0.1' });
    expect(config.safeParse({}).error?.issues).toMatchObject([{ path: ['OAUTH_ISSUER'] }]);
  });

  it('in production needs the rest too, and listens to all', () =>
    expect(start(PRODUCTION)).toMatchObject({
      production: true,
      host: '0.0.0.0',
      audience: 'https://cortex.example/mcp',
    }));

  it('is told every fault at once', () => {
    const env = { NODE_ENV: 'production', OAUTH_ISSUER: 'http://id.example', RATE_LIMIT_DISABLED: 'true' };
    for (const name of ['CORTEX_CANONICAL_URI', 'OAUTH_ISSUER', 'RATE_LIMIT_DISABLED', 'CORTEX_STATE_KEY'])
      expect(() => start(env)).toThrow(name);
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    ['a canonical URI with a fragment', { CORTEX_CANONICAL_URI: 'https://a.example/mcp#x' }, 'query or a fragment'],
    ['a canonical URI with a query', { CORTEX_CANONICAL_URI: 'https://a.example/mcp?x=1' }, 'query or a fragment'],
    ['plaintext in production', { CORTEX_CANONICAL_URI: 'http://a.example/mcp' }, 'CORTEX_CANONICAL_URI is not https'],
    ['a plaintext issuer in production', { OAUTH_ISSUER: 'http://id.example' }, 'OAUTH_ISSUER is not https'],
    ['no canonical URI in production', { CORTEX_CANONICAL_URI: undefined }, 'CORTEX_CANONICAL_URI is missing'],
    ['no limit in production', { RATE_LIMIT_DISABLED: 'true' }, 'RATE_LIMIT_DISABLED is set'],
    ['no state key in production', { CORTEX_STATE_KEY: undefined }, 'CORTEX_STATE_KEY is missing'],
    ['one secret for timer and operators', { CRON_SECRET: 's', CORTEX_ADMIN_SECRET: 's' }, 'CRON_SECRET is'],
    ['half an introspection', { OAUTH_INTROSPECT_URL: 'https://id.example/i' }, 'OAUTH_INTROSPECT_CLIENT_ID'],
    ['half a client', { CORTEX_TECHNICAL_CLIENT_ID: 'c' }, 'CORTEX_TECHNICAL_CLIENT_SECRET is missing'],
    ['two backends of one name', { CORTEX_BACKENDS: 'a-b a_b' }, 'CORTEX_BACKENDS'],
    ['a key of a baseline that is none', { CORTEX_BASELINE_PRIVATE_KEY: 'x' }, 'CORTEX_BASELINE_PRIVATE_KEY'],
  ])('is refused with %s, by the name of the variable', (_what, change, fault) => {
    const env = Object.fromEntries(
      Object.entries({ ...PRODUCTION, ...change }).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    );
    expect(() => start(env)).toThrow(fault);
  });

  it('with http in production is for this machine alone, which the bridge needs', () => {
    const loopback = { CORTEX_CANONICAL_URI: 'http://127.0.0.1:3213/mcp', OAUTH_ISSUER: 'http://127.0.0.1:40000' };
    expect(start({ ...PRODUCTION, ...loopback }).canonicalUri).toBe('http://127.0.0.1:3213/mcp');
  });

  it.each([
    ['OAUTH_ALLOWED_ALGS', 'none'],
    ['OAUTH_ALLOWED_ALGS', 'RS256,HS256'],
    ['OAUTH_CLOCK_SKEW_SECONDS', '121'],
    ['OAUTH_INTROSPECT_FAIL_MODE', 'maybe'],
    ['PORT', '70000'],
    ['CORTEX_MAX_BODY_BYTES', '16MB'],
    ['CORTEX_LEGACY', 'perhaps'],
    ['CORTEX_TOOL_NAME_MAX', '23'],
    ['CORTEX_SCHEMA_PROFILE', 'tiny'],
    ['CORTEX_STATE_KEY', 'short'],
    ['CORTEX_STATE_KEYS_OLD', 'short'],
    ['CORTEX_SCOPE_IMPLIES', 'oops'],
    ['CORTEX_TOOL_INTEGRITY_MODE', 'off'],
  ])('is refused with %s=%s, by its name', (name, value) =>
    expect(config.safeParse({ ...DEVELOPMENT, [name]: value }).error?.issues[0]?.path[0]).toBe(name),
  );

  it('without a list of origins in production is warned that no web page gets in', () => {
    expect(startWarnings(start(PRODUCTION))).toEqual([expect.stringContaining('CORTEX_ALLOWED_ORIGINS is empty')]);
    expect(startWarnings(start({ ...PRODUCTION, CORTEX_ALLOWED_ORIGINS: 'https://app.example' }))).toEqual([]);
    expect(startWarnings(start(DEVELOPMENT))).toEqual([]);
  });
});
