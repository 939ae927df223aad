import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ServiceHost } from '@cortex/service-kit';
import { config } from '../config.js';
import { SessionKeys } from './session-keys.js';

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;
const xOf = (key: KeyObject) => key.export({ format: 'jwk' }).x!;
const [one, two] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];

const keysOf = (env: Record<string, string>, kept?: string) =>
  new SessionKeys(config.parse(env), { secrets: kept === undefined ? null : { session_key: kept } } as ServiceHost);

describe('the keys of session tokens', () => {
  it('are the signing one, and while it changes the one before', () => {
    const { all } = keysOf({ CORTEX_SESSION_KEY: pemOf(two.privateKey), CORTEX_SESSION_KEYS_OLD: xOf(one.publicKey) });
    expect(all).toMatchObject([
      { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: xOf(two.publicKey) },
      { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', x: xOf(one.publicKey) },
    ]);
    expect(all[0]!.kid).not.toBe(all[1]!.kid);
  });

  it('have ids that follow from the key, so that an old one keeps its own', () => {
    const before = keysOf({}, pemOf(one.privateKey)).all[0];
    const after = keysOf({ CORTEX_SESSION_KEYS_OLD: xOf(one.publicKey) }, pemOf(two.privateKey)).all[1];
    expect(after).toEqual(before);
  });

  it('hold nothing private', () => {
    for (const key of keysOf({}, pemOf(one.privateKey)).all) expect(key).not.toHaveProperty('d');
  });

  it('are named once when the signing one is listed too', () => {
    expect(keysOf({ CORTEX_SESSION_KEYS_OLD: xOf(one.publicKey) }, pemOf(one.privateKey)).all).toHaveLength(1);
  });

  it.each([
    ['is missing', {}, undefined],
    ['is no Ed25519 key', { CORTEX_SESSION_KEY: 'nonsense' }, undefined],
    ['is no Ed25519 key', { CORTEX_SESSION_KEY: pemOf(generateKeyPairSync('x25519').privateKey) }, undefined],
  ])('stop the start when the key %s, without a byte of it', (problem, env, kept) => {
    const start = () => keysOf(env, kept);
    expect(start).toThrow(`CORTEX_SESSION_KEY ${problem}`);
    expect(start).not.toThrow(/nonsense|PRIVATE/);
  });

  it('that are old are checked at the start', () => {
    expect(config.safeParse({ CORTEX_SESSION_KEYS_OLD: 'short' }).error?.issues[0]?.message).toContain('Ed25519');
  });
});
