import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { config } from './config.js';
import { settingsOf } from './settings.js';

const key = randomBytes(32);
const ofHome = { version: '1', auditHashKey: 'k', stateKey: key.toString('base64') };
const development = { OAUTH_ISSUER: 'http://127.0.0.1:9031' };
const production = {
  NODE_ENV: 'production',
  OAUTH_ISSUER: 'https://id.example',
  CORTEX_CANONICAL_URI: 'https://cortex.example/mcp',
  CORTEX_AUDIT_HASH_KEY: 'k',
};

describe('the key of sealed values', () => {
  it('is that of the home where none is set', () => {
    expect(settingsOf(config.parse(development), ofHome).stateKey).toEqual(key);
  });
  it('T15 is set in production, or there is no start', () => {
    expect(() => settingsOf(config.parse(production), ofHome)).toThrow('CORTEX_STATE_KEY is missing');
    const set = { ...production, CORTEX_STATE_KEY: key.toString('base64') };
    expect(settingsOf(config.parse(set), ofHome).stateKey).toEqual(key);
  });
  it.each(['CORTEX_STATE_KEY', 'CORTEX_STATE_KEYS_OLD'])(
    'is refused in %s when it is no 32 bytes in base64',
    (name) => {
      const { error } = config.safeParse({ ...development, [name]: 'hunter2' });
      expect(error?.issues[0]).toMatchObject({ path: [name], message: expect.stringContaining('is not 32 bytes') });
      expect(JSON.stringify(error?.issues)).not.toContain('hunter2');
    },
  );
});

describe('the secrets of the audit trail', () => {
  it('T92 are always there: without a key of the hashes there is no start, in production none of the home', () => {
    const { auditHashKey: _, ...keyless } = ofHome;
    expect(() => settingsOf(config.parse(development), keyless)).toThrow('CORTEX_AUDIT_HASH_KEY is missing');
    expect(settingsOf(config.parse(development), ofHome).auditHashKey).toBe('k');
    const { CORTEX_AUDIT_HASH_KEY: __, ...unset } = production;
    expect(() => settingsOf(config.parse(unset), ofHome)).toThrow('CORTEX_AUDIT_HASH_KEY is missing');
  });
  it('let no timer approve tools: the secret of the purge is not that of the operators', () => {
    const env = config.parse({ ...development, CRON_SECRET: 's', CORTEX_ADMIN_SECRET: 's' });
    expect(() => settingsOf(env, ofHome)).toThrow('CRON_SECRET is CORTEX_ADMIN_SECRET');
    expect(() =>
      settingsOf(config.parse({ ...development, CRON_SECRET: 's' }), { ...ofHome, adminSecret: 's' }),
    ).toThrow('CRON_SECRET is CORTEX_ADMIN_SECRET');
  });
});

it('T02 the issuer of people is never that of session tokens', () => {
  const env = { ...development, CORTEX_CANONICAL_URI: 'http://127.0.0.1:9030/mcp' };
  expect(() => settingsOf(config.parse({ ...env, OAUTH_ISSUER: 'http://127.0.0.1:9030/session' }), ofHome)).toThrow(
    'OAUTH_ISSUER is the issuer of session tokens',
  );
});

describe('introspection', () => {
  const all = {
    OAUTH_INTROSPECT_URL: 'https://id.example/introspect',
    OAUTH_INTROSPECT_CLIENT_ID: 'cortex',
    OAUTH_INTROSPECT_CLIENT_SECRET: 'secret',
  };
  it('is on with all of its variables, and off without any', () => {
    expect(settingsOf(config.parse({ ...development, ...all }), ofHome).introspection?.clientId).toBe('cortex');
    expect(settingsOf(config.parse(development), ofHome).introspection).toBeUndefined();
  });
  it.each(Object.keys(all))('T02 is never half on: without %s there is no start', (name) => {
    const { [name]: _, ...rest } = all as Record<string, string>;
    expect(() => settingsOf(config.parse({ ...development, ...rest }), ofHome)).toThrow(`${name} is missing`);
  });
});

describe('where tokens and keys come from', () => {
  it.each([
    ['OAUTH_INTROSPECT_URL', 'http://id.example/introspect'],
    ['OAUTH_JWKS_URL', 'http://127.0.0.1.evil.example/jwks'],
    ['OAUTH_JWKS_URL', 'https://user:pass@id.example/jwks'],
  ])('%s may not be %s', (name, url) => {
    const env = { ...development, OAUTH_INTROSPECT_CLIENT_ID: 'c', OAUTH_INTROSPECT_CLIENT_SECRET: 's', [name]: url };
    if (name === 'OAUTH_JWKS_URL') env['OAUTH_INTROSPECT_URL' as keyof typeof env] = 'https://id.example/introspect';
    expect(() => settingsOf(config.parse(env), ofHome)).toThrow(`${name} `);
  });
  it('the development issuer beside the edge gives its keys by http, opens nothing else, and is none of production', () => {
    const env = { ...development, CORTEX_DEV_ISSUER: '1', OAUTH_JWKS_URL: 'http://issuer:9031/jwks' };
    expect(settingsOf(config.parse(env), ofHome).jwksUrl).toBe(env.OAUTH_JWKS_URL);
    const backend = { CORTEX_BACKENDS: 'crm', CORTEX_BACKEND_CRM_URL: 'http://crm:8080' };
    expect(settingsOf(config.parse({ ...env, ...backend }), ofHome).federation.backends).toEqual([]);
    const forgotten = config.parse({ ...production, CORTEX_DEV_ISSUER: '1' });
    expect(() => settingsOf(forgotten, ofHome)).toThrow(/^CORTEX_DEV_ISSUER is on, .*; set it to 0$/m);
  });
});
