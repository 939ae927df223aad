import { describe, expect, it } from '@jest/globals';
import { UriTemplate } from '@modelcontextprotocol/server';
import { patternFrom } from './template-pattern.js';

describe('a URI fits a template', () => {
  it.each([
    ['demo:a', 'demo:a', true],
    ['demo:a', 'demo:ab', false],
    ['demo:a.c', 'demo:abc', false],
    ['demo:note/{title}', 'demo:note/x%2Fy', true],
    ['demo:note/{title}', 'demo:note/', false],
    ['demo:note/{title}', 'demo:note/x/y', false],
    ['demo:note/{title}', 'demo:note/x,y', false],
    ['demo:note/{title*}', 'demo:note/x,y', true],
    ['demo:note/{title*}', 'demo:note/x,,y', false],
    ['demo:note/{title*}', 'demo:note/x,', false],
    ['demo:{+path}', 'demo:x/y,z', true],
    ['demo:{+path}', 'demo:x\ny', false],
    ['demo:{+path}.txt', 'demo:x.txt.txt', true],
    ['demo:log{?from,to}', 'demo:log?from=1&to=2', true],
    ['demo:log{?from,to}', 'demo:log?to=2', false],
    ['demo:{a}{.b}{/c}', 'demo:x.y/z', true],
    ['demo:{a', 'demo:{a', false],
  ])('%s: %s is %p', (template, uri, expected) => {
    expect(patternFrom(template).fits(uri)).toBe(expected);
  });

  it('where the SDK of a client would say so', () => {
    // A generator of numbers that gives the same ones each time.
    let seed = 7;
    const pick = <T>(from: readonly T[]): T => from[(seed = (seed * 48_271) % 2_147_483_647) % from.length]!;
    const words = (from: readonly string[], most: number) =>
      Array.from({ length: pick([...Array(most).keys()]) + 1 }, () => pick(from)).join('');
    const PIECES = [
      'a',
      ',',
      '/',
      '.',
      '{v}',
      '{v*}',
      '{+v}',
      '{#v}',
      '{.v}',
      '{/v}',
      '{/v*}',
      '{?v}',
      '{?v,w}',
      '{&v}',
    ];
    const LETTERS = ['a', 'a', ',', '/', '.', '?v=', '&w=', '&v=', '\n'];
    let fitting = 0;
    for (let i = 0; i < 20_000; i++) {
      const [template, uri] = [words(PIECES, 4), words(LETTERS, 7)];
      const expected = new UriTemplate(template).match(uri) !== null;
      if (expected) fitting++;
      expect([template, uri, patternFrom(template).fits(uri)]).toEqual([template, uri, expected]);
    }
    expect(fitting).toBeGreaterThan(1_000);
  });
});

describe('T18 no template holds the process, whatever URI a client sends', () => {
  const LONG = 8_000;
  it.each([
    ['of expressions that may be anything', `demo:${'{+a}'.repeat(20)}x`, `demo:${'a,b/'.repeat(LONG / 4)}!`],
    ['of lists', `demo:${'{a*}'.repeat(20)}x`, `demo:${'a,'.repeat(LONG / 2)}!`],
    ['of parts of a path', `demo:${'{/a*}'.repeat(20)}x`, `demo:${'/a'.repeat(LONG / 2)}!`],
  ])('%s', (_what, template, uri) => {
    expect(patternFrom(template).fits(uri)).toBe(false);
    expect(patternFrom(template).fits(`${uri}x`)).toBe(template.includes('+'));
  });

  it('of too many expressions fits none', () => {
    expect(patternFrom(`demo:${'{+a}'.repeat(20)}`).fits(`demo:${'a'.repeat(20)}`)).toBe(true);
    expect(patternFrom(`demo:${'{+a}'.repeat(21)}`).fits(`demo:${'a'.repeat(21)}`)).toBe(false);
  });
});
