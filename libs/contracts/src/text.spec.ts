import { expect, it } from '@jest/globals';
import { charCount, firstChars, lastChars, showControls } from './text.js';

it('counts an emoji as one character and never cuts it in two', () => {
  const text = 'a😀b😀';
  expect(charCount(text)).toBe(4);
  expect([0, 1, 2, 3, 4, 5].map((n) => firstChars(text, n))).toEqual(['', 'a', 'a😀', 'a😀b', text, text]);
  expect([0, 1, 2, 3, 4, 5].map((n) => lastChars(text, n))).toEqual(['', '😀', 'b😀', '😀b😀', text, text]);
});
it('counts a lone surrogate as one character', () => {
  expect(charCount('\ud800x')).toBe(2);
  expect(firstChars('\ud800\ud800x', 1)).toBe('\ud800');
});
it('T88 shows control characters other than tab and line feed', () => {
  expect(showControls('a\tb\nc\r\x1b[0m\x00\x7f\x9bü')).toBe('a\tb\nc\\x0D\\x1B[0m\\x00\\x7F\\x9Bü');
});
