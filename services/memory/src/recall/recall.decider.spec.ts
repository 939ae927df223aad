import type { RecallEvent } from '@cortex/contracts/memory';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { expect, it } from '@jest/globals';
import { recall } from './recall.decider.js';

const given = specFor(recall);
const command = { type: 'RecallFacts' as const, fact_ids: ['f1', 'f2'], mode: 'hybrid' };
const recalled: RecallEvent = { type: 'MemoryFactsRecalled', data: { fact_ids: ['f1', 'f2'], mode: 'hybrid' } };

it('records once what a search showed', () => {
  given().when(command).then(recalled);
  given(recalled).when(command).thenNothing();
});

it('folds every stored history', () => {
  expect(foldHistories(recall, new URL('history/', import.meta.url))).toEqual({
    '0001-recalled.json': { recorded: true },
  });
});
