import { expect, it } from '@jest/globals';
import { commandIdIn, parseFrame } from './frames.js';

const parse = (text: string) => parseFrame(Buffer.from(text));
const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

it('takes objects only', () => {
  expect(parse('{"a":1}')).toEqual({ a: 1 });
  for (const text of ['', '{', '[]', 'null', '7', '"x', '{"a":"b\\"}']) expect(parse(text)).toBeNull();
});
it('T68 takes 64 levels and not 65', () => {
  expect(parse(nested(64))).not.toBeNull();
  expect(parse(nested(65))).toBeNull();
});
it('does not count brackets in texts', () => {
  const text = JSON.stringify({ a: `${'['.repeat(1000)}"\\"[`, b: '\\', c: '[[' });
  expect(parse(text)).toEqual(JSON.parse(text));
});
it('T68 refuses deep nesting without looking at the rest, and takes linear time on any text', () => {
  const deep = Buffer.alloc(16 * 1024 * 1024, '[');
  const quotes = Buffer.from(`{"a":"${'\\\\\\"'.repeat(2_000_000)}"}`);
  expect(parseFrame(deep)).toBeNull();
  expect(parseFrame(quotes)).not.toBeNull();
});
it('finds the command that a broken frame was to answer', () => {
  expect(commandIdIn(Buffer.from('{"type":"result","commandId":"0123456789abcdef","data":['))).toBe('0123456789abcdef');
  expect(commandIdIn(Buffer.from('{"id" : "0123456789abcdef"'))).toBe('0123456789abcdef');
  expect(commandIdIn(Buffer.from(`${' '.repeat(2000)}"id":"0123456789abcdef"`))).toBeNull();
});
