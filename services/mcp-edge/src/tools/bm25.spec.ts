import { describe, expect, it } from '@jest/globals';
import { Bm25, labelOf, tokens } from './bm25.js';

describe('words', () => {
  it.each([
    ['MCPTool', ['mcp', 'tool']],
    ['getHTTPResponse', ['get', 'http', 'response']],
    ['closeTicket2Now', ['close', 'ticket2', 'now']],
    ['sha256sum', ['sha256', 'sum']],
    ['close_ticket', ['close', 'ticket']],
    ['Crème brûlée, s’il vous plaît!', ['creme', 'brulee', 's', 'il', 'vous', 'plait']],
    ['読む  ticket', ['読む', 'ticket']],
    [' ,.- ', []],
  ])('of %j are %j', (text, expected) => expect(tokens(text)).toEqual(expected));

  it('of a label lose prefix and underscores', () =>
    expect(labelOf('mcp__github__open_issue')).toBe('github open issue'));
});

describe('a score', () => {
  // Two documents. close_ticket: name 6+6, label 4+4, description "Closes" 2, key ticket_id 1+1 = 24 in all.
  // list_ticket: name 6+6, label 4+4, description "Lists tickets" 2+2 = 24. avgdl = 24, so the norm is k1 = 1.2.
  const index = new Bm25([
    { name: 'close_ticket', description: 'Closes', keys: ['ticket_id'] },
    { name: 'list_ticket', description: 'Lists tickets', keys: [] },
  ]);
  const rounded = (query: string) => index.search(query).map(({ name, score }) => [name, Number(score.toFixed(4))]);

  it('is that of the formula, to four decimals', () => {
    // close: df 1, idf = ln(1 + 1.5/1.5) = 0.693147; tf 10: 0.693147 · (10·2.2/11.2 + 1) = 2.0547.
    expect(rounded('close')).toEqual([['close_ticket', 2.0547]]);
    // ticket: df 2, idf = ln(1 + 0.5/2.5) = 0.182322; tf 11: · (24.2/12.2 + 1) = 0.5440; tf 10: · 2.964286 = 0.5405.
    expect(rounded('ticket')).toEqual([
      ['close_ticket', 0.544],
      ['list_ticket', 0.5405],
    ]);
  });

  it('counts a word of the query as often as it stands there, and knows nothing of other words', () => {
    expect(rounded('close CLOSE')).toEqual([['close_ticket', 4.1094]]);
    expect(rounded('closed unheard-of')).toEqual([]);
  });

  it('that is equal leaves the order to the name', () => {
    const twins = new Bm25(['b', 'a', 'c'].map((name) => ({ name, description: 'same', keys: [] })));
    expect(twins.search('same').map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('weighs tool and server part of a bridged name', () => {
    const bridged = new Bm25([
      { name: 'mcp__github__open_issue', description: '', keys: [] },
      { name: 'x', description: '', keys: [] },
    ]);
    expect(bridged.search('github')[0]?.score).toBeLessThan(bridged.search('issue')[0]?.score ?? 0);
  });

  it('of an empty catalogue is none', () => expect(new Bm25([]).search('x')).toEqual([]));
});
