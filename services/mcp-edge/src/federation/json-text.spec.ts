import { describe, expect, it } from '@jest/globals';
import { compact, membersOf, partsOf } from './json-text.js';
import { stripOwnMeta, withoutOwnKeys } from './own-meta.js';

describe('compact', () => {
  it.each([
    ['{"a":1}', '{"a":1}'],
    [' { "a" :\t[ 1 ,\r\n 2 ] } ', '{"a":[1,2]}'],
    ['"a  b"', '"a  b"'],
    ['{"k \\" {[,:": " \\\\" }', '{"k \\" {[,:":" \\\\"}'],
    ['[1.0, 1e400, 12345678901234567890]', '[1.0,1e400,12345678901234567890]'],
    ['', ''],
  ])('takes the blanks between tokens away and nothing else: %j', (text, expected) =>
    expect(compact(text)).toBe(expected),
  );
});

describe('members and parts', () => {
  it('are the texts as they were written', () => {
    expect([...membersOf('{"b":1.0,"1":{"x":[1,2]},"\\u0061":"},{","":[]}')]).toEqual([
      ['b', '1.0'],
      ['1', '{"x":[1,2]}'],
      ['a', '"},{"'],
      ['', '[]'],
    ]);
    expect(partsOf('[{"a":[1,2]},"],[",[[]],3]')).toEqual(['{"a":[1,2]}', '"],["', '[[]]', '3']);
  });
  it('are none of an empty one', () => {
    expect(partsOf('[]')).toEqual([]);
    expect(membersOf('{}').size).toBe(0);
  });
  it('have the last one of a key that stands twice, and keep keys that mean something to objects', () => {
    expect(membersOf('{"a":1,"a":2,"__proto__":3}')).toEqual(
      new Map([
        ['a', '2'],
        ['__proto__', '3'],
      ]),
    );
  });
});

describe('T12 keys of _meta that are ours', () => {
  it('are taken out of a definition, however they are spelt', () => {
    expect(withoutOwnKeys('{"a":1,"cortex/name":"x","\\u0063ortex/provenance":{},"Cortex/x":1}')).toBe('{"a":1}');
    expect(withoutOwnKeys('{"cortex/name":"x"}')).toBeUndefined();
    expect(withoutOwnKeys('{"a":1.0}')).toBe('{"a":1.0}');
  });
  it('are taken out of a result and all its parts, and data stays data', () => {
    const result = {
      _meta: { 'cortex/error': 1, own: 2 },
      content: [
        { type: 'resource', _meta: { 'cortex/provenance': 1 }, resource: { uri: 'x', _meta: { 'cortex/a': 1 } } },
      ],
      structuredContent: { _meta: { 'cortex/kept': 1 } },
    };
    stripOwnMeta(result);
    expect(result).toEqual({
      _meta: { own: 2 },
      content: [{ type: 'resource', _meta: {}, resource: { uri: 'x', _meta: {} } }],
      structuredContent: { _meta: { 'cortex/kept': 1 } },
    });
  });
  it('are looked for to a depth that no stack minds', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown;
    expect(() => stripOwnMeta(deep)).toThrow(RangeError);
  });
});
