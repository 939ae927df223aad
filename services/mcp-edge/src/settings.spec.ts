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

it('T02 the issuer of people is never that of session tokens', () => {
  const env = { ...development, CORTEX_CANONICAL_URI: 'http://127.0.0.1:9030/mcp' };
  expect(() => settingsOf(config.parse({ ...env, OAUTH_ISSUER: 'http://127.0.0.1:9030/session' }), ofHome)).toThrow(
    'OAUTH_ISSUER is the issuer of session tokens',
  );
});
