import { expect, it } from '@jest/globals';
import { flag, isOn } from './flag.js';

it.each([
  ['true', true],
  ['1', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['off', false],
])('reads %s as %s, whatever holds without it', (word, value) => {
  expect(flag(!value).parse(word)).toBe(value);
  expect(isOn(word)).toBe(value);
});

it('takes what holds without it where it is not set', () => {
  expect(flag(true).parse(undefined)).toBe(true);
  expect(flag(false).parse(undefined)).toBe(false);
  expect(isOn(undefined)).toBe(false);
});

it.each(['yes', 'TRUE', ''])('takes %j for neither', (word) => {
  expect(flag(true).safeParse(word).success).toBe(false);
  expect(isOn(word)).toBe(false);
});
