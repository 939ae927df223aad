import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { mainKey, Sealer, SealError, type SealContext } from './seal.js';

const main = randomBytes(32);
const sealer = new Sealer(main);
const context: SealContext = { purpose: 'result', caller: 'per_1/client', method: 'tools/call' };
const plain = Buffer.from([0, 255, 10, ...Buffer.from('{"token":"canary"}')]);

describe('a sealed value', () => {
  it('opens for the same purpose, caller and method, byte for byte', () => {
    const sealed = sealer.seal(context, plain);
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/);
    expect(new Sealer(main).open(context, sealed)).toEqual(plain);
    expect(sealer.open(context, sealer.seal(context, Buffer.alloc(0)))).toHaveLength(0);
  });

  it.each<[string, Partial<SealContext>]>([
    ['purpose', { purpose: 'state' }],
    ['purpose', { purpose: 'cursor' }],
    ['purpose', { purpose: 'link' }],
    ['caller', { caller: 'per_2/client' }],
    ['method', { method: 'resources/read' }],
  ])('T15 of another %s is refused', (_, other) => {
    const sealed = sealer.seal({ ...context, ...other }, plain);
    expect(() => sealer.open(context, sealed)).toThrow(SealError);
  });

  it('T15 of an unknown key is refused', () => {
    expect(() => sealer.open(context, new Sealer(randomBytes(32)).seal(context, plain))).toThrow(/unknown key/);
  });

  it('T15 of an old key opens, and nothing is sealed with it any more', () => {
    const before = sealer.seal(context, plain);
    const rotated = new Sealer(randomBytes(32), [main]);
    expect(rotated.open(context, before)).toEqual(plain);
    expect(() => sealer.open(context, rotated.seal(context, plain))).toThrow(SealError);
  });

  it('T15 never has the nonce or the text of another', () => {
    const all = Array.from({ length: 1000 }, () => sealer.seal(context, plain).slice(12));
    expect(new Set(all.map((text) => Buffer.from(text, 'base64url').toString('hex', 0, 12))).size).toBe(1000);
  });

  it('T15 that was changed in any byte is refused', () => {
    const sealed = sealer.seal(context, plain);
    const bytes = Buffer.from(sealed.slice(12), 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i]! ^= 1;
      expect(() => sealer.open(context, sealed.slice(0, 12) + changed.toString('base64url'))).toThrow(SealError);
    }
  });

  it.each(['', 'v1', 'v2.00000000.AAAA', 'v1.00000000.', sealer.seal(context, plain).slice(0, 30), '{"plain":true}'])(
    'T15 %j is none',
    (text) => expect(() => sealer.open(context, text)).toThrow(SealError),
  );
});

it('a main key is 32 bytes in base64 and nothing else', () => {
  expect(mainKey(main.toString('base64'))).toEqual(main);
  for (const bad of ['', 'secret', randomBytes(31).toString('base64'), main.toString('hex')])
    expect(mainKey(bad)).toBeUndefined();
});
