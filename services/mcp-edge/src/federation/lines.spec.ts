import { describe, expect, it } from '@jest/globals';
import { Lines } from './lines.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const read = (lines: Lines, ...chunks: string[]): string[] =>
  chunks.flatMap((chunk) => [...lines.push(bytes(chunk))].map((line) => Buffer.from(line).toString()));

describe('a stream of bytes', () => {
  it('is cut at its line breaks, whatever pieces it comes in', () => {
    const lines = new Lines();
    expect(read(lines, 'a', 'b\nc', '\n\nd')).toEqual(['ab', 'c', '']);
    expect(Buffer.from(lines.rest()).toString()).toBe('d');
  });

  it('loses a line that is too long, is told of it once and before its end, and goes on with the next', () => {
    let told = 0;
    const lines = new Lines({ max: 4, tooLong: () => void told++ });
    expect(read(lines, 'abcd\n', 'ab', 'cde')).toEqual(['abcd']);
    expect(told).toBe(1);
    expect(read(lines, 'fgh', 'ijk\nnext\n', 'again much\n', 'ok\nlong one')).toEqual(['next', 'ok']);
    expect([told, lines.rest()]).toEqual([3, Buffer.alloc(0)]);
  });
});
