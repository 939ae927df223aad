import { expect, it } from '@jest/globals';
import type { CostLogEvent } from '@cortex/contracts/cost';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { costlog, type CostLogCommand } from './costlog.decider.js';

const given = specFor(costlog);
const prune = (before: string): CostLogCommand => ({ type: 'PruneCostEntries', before, count: 3 });
const pruned: CostLogEvent = { type: 'CostEntriesPruned', data: { before: '2026-01-05T00:00:00.000Z', count: 3 } };

it('records up to when rows are gone', () => given().when(prune('2026-01-05T00:00:00.000Z')).then(pruned));
it('records the same time once', () => given(pruned).when(prune('2026-01-05T00:00:00.000Z')).thenNothing());
it('never goes back when a clock does', () => given(pruned).when(prune('2026-01-04T00:00:00.000Z')).thenNothing());
it('records an import once', () => {
  const note: CostLogCommand = { type: 'NoteImport', count: 2, skipped: 1 };
  const imported: CostLogEvent = { type: 'CostsImported', data: { count: 2, skipped: 1 } };
  given().when(note).then(imported);
  given(imported).when(note).thenNothing();
});

it('folds what was stored by this release to what it says', () => {
  expect(foldHistories(costlog, new URL('history/', import.meta.url))).toEqual({
    '0001-pruned.json': { before: '2026-01-02T00:00:00.000Z', imported: true },
  });
});
