import { describe, expect, it } from '@jest/globals';
import { tokens } from './tokens.js';

describe('the tokens of a text', () => {
  it.each([
    ['session token TTL', ['session', 'token', 'ttl']],
    ['Policies, buses, classes and trees', ['policy', 'buse', 'classe', 'tree']],
    ['goes status glass cookies movies', ['goe', 'status', 'glass', 'cooky', 'movy']],
    ['the of and', []],
    ['a 7 b', ['7']],
    ['& | ! <-> :* () \'\' "x" \\', []],
    ["don't", ['don']],
    ['東京タワー', ['東京', '京タ', 'タワ', 'ワー']],
    ['部署v2東', ['部署', 'v2', '東']],
    ['ＦＵＬＬ ﬁne', ['full', 'fine']],
    ['caf\u00e9 cafe\u0301', ['café', 'café']],
    ['Привет мир', ['привет', 'мир']],
    ['हिन्दी', ['हिन्दी']],
    ['👍🏽 🎉', []],
    ['\ud83d half', ['half']],
    ['', []],
  ])('%j', (text, expected) => expect(tokens(text)).toEqual(expected));

  it('of a blob are cut, since an index entry has a limit', () => {
    expect(tokens('x'.repeat(4000))).toEqual(['x'.repeat(64)]);
    expect(tokens('𝒜𐐷'.repeat(100)).map((token) => [...new Intl.Segmenter().segment(token)].length)).toEqual([64]);
  });
});
