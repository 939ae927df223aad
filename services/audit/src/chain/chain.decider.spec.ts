import type { Anchor, ChainEvent } from '@cortex/contracts/chain';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { expect, it } from '@jest/globals';
import { chain } from './chain.decider.js';

const given = specFor(chain);
const anchor = (seq: number): Anchor => ({
  at: '2026-01-05T10:00:00.000Z',
  seq,
  hash: 'ab'.repeat(32),
  key: 'k',
  signature: 's',
});
const anchored = (seq: number): ChainEvent => ({ type: 'CallsAnchored', data: anchor(seq) });
const anchorCalls = (seq: number) => ({ type: 'AnchorCalls' as const, anchor: anchor(seq) });

it('anchors the first records', () => given().when(anchorCalls(7)).then(anchored(7)));
it('anchors what has come since', () => given(anchored(7)).when(anchorCalls(9)).then(anchored(9)));
it('anchors nothing twice when two instances sign at once', () =>
  given(anchored(7)).when(anchorCalls(7)).thenNothing());
it('never goes back', () => given(anchored(9)).when(anchorCalls(7)).thenNothing());
it('folds what was stored by this release to what it says', () => {
  expect(foldHistories(chain, new URL('history/', import.meta.url))).toEqual({
    '0001-anchored.json': { seq: 10_000, at: '2026-01-05T10:00:01.000Z' },
  });
});
