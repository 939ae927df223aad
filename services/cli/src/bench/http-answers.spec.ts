import { describe, expect, it } from '@jest/globals';
import { HttpAnswers } from './http-answers.js';

const answersOf = (chunks: readonly Buffer[]): [number, string][] => {
  const seen: [number, string][] = [];
  const answers = new HttpAnswers((status, body) => seen.push([status, body.toString()]));
  for (const chunk of chunks) answers.take(chunk);
  return seen;
};
const bytewise = (text: string): Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.of(byte));

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED = 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n';

describe('answers of a keep-alive connection', () => {
  it.each([
    ['with a length', SIZED, 200],
    ['in chunks', CHUNKED, 202],
  ])('%s: whole, byte by byte, and two in one piece', (_name, text, status) => {
    const answer = [status, 'hello'];
    expect(answersOf([Buffer.from(text)])).toEqual([answer]);
    expect(answersOf(bytewise(text))).toEqual([answer]);
    expect(answersOf([Buffer.from(text + text)])).toEqual([answer, answer]);
  });

  it('without a body', () => {
    expect(answersOf([Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')])).toEqual([[204, '']]);
  });
});
