import { expect, it } from '@jest/globals';
import { Waiting } from './waiting.js';

const item = (token: string) => ({ token });

it('gives each what waits under its own token, once', () => {
  const waiting = new Waiting<{ token: string }>();
  const [a, b] = [waiting.add('x', item), waiting.add('x', item)];
  expect(a.token).not.toBe(b.token);
  expect(waiting.take(a.token)).toBe(a);
  expect(waiting.take(a.token)).toBeUndefined();
  expect(waiting.all()).toEqual([b]);
});

it('takes a slot again, but not for the token that had it before', () => {
  const waiting = new Waiting<{ token: string }>();
  const first = waiting.add('first', item);
  waiting.take(first.token);
  const second = waiting.add('second', item);
  expect(waiting.size).toBe(1);
  expect(waiting.has(first)).toBe(false);
  expect(waiting.take(first.token)).toBeUndefined();
  expect(waiting.take(second.token)).toBe(second);
  expect(waiting.size).toBe(0);
});

it.each(['', '-', '0', '0-other', 'zz-first', '-1-first', '0.5-first', 'NaN'])('knows no token "%s"', (token) => {
  const waiting = new Waiting<{ token: string }>();
  waiting.add('first', item);
  expect(waiting.take(token)).toBeUndefined();
  expect(waiting.size).toBe(1);
});
