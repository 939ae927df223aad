import { createHmac } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { keyedHash } from './keyed-hash.js';

it('T92 is HMAC-SHA-256, whatever the length of key and text', () => {
  for (const key of ['', 'k', 'k'.repeat(64), 'ü'.repeat(64)])
    for (const text of ['', 'a', 'ä€😀', 'x'.repeat(64), 'ü'.repeat(65_536), 'x'.repeat(65_537)]) {
      const expected = createHmac('sha256', key).update(text).digest('hex').slice(0, 16);
      expect(keyedHash(key)(text)).toBe(expected);
    }
});

it('one text leaves nothing behind for the next', () => {
  const hash = keyedHash('k');
  const first = hash('short');
  hash('x'.repeat(10_000));
  expect(hash('short')).toBe(first);
});
