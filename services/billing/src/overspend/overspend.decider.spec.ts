import { expect, it } from '@jest/globals';
import type { OverspendEvent } from '@cortex/contracts/cost';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { overspend, overspendId, type OverspendCommand } from './overspend.decider.js';

const given = specFor(overspend);
const use = (spent_usd: number, limit_usd = 300) => ({
  scope: 'global' as const,
  project: null,
  period: 'day' as const,
  starts: '2026-01-05',
  limit_usd,
  spent_usd,
});
const note = (spent: number, limit?: number): OverspendCommand => ({ type: 'NoteUse', use: use(spent, limit) });
const exceeded: OverspendEvent = { type: 'BudgetExceeded', data: use(301) };

it('says that a limit was crossed', () => given().when(note(301)).then(exceeded));
it('says nothing of a limit that is reached and not crossed', () => given().when(note(300)).thenNothing());
it('says it once, however much more is spent', () => given(exceeded).when(note(900)).thenNothing());
it('says nothing again when the limit is lowered', () => given(exceeded).when(note(900, 200)).thenNothing());
it('says it again when the limit was raised and is crossed too', () =>
  given(exceeded)
    .when(note(900, 500))
    .then({ type: 'BudgetExceeded', data: use(900, 500) }));
it('has one id per budget and period', () => {
  const of = (project: string | null, starts: string) => overspendId({ project, period: 'day', starts });
  expect(new Set([of(null, '2026-01-05'), of('arm', '2026-01-05'), of(null, '2026-01-06')]).size).toBe(3);
});

it('folds what was stored by this release to what it says', () => {
  expect(foldHistories(overspend, new URL('history/', import.meta.url))).toEqual({
    '0001-exceeded.json': { limit_usd: 10 },
  });
});
