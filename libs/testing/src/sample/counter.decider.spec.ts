import { describe, expect, it } from '@jest/globals';
import { foldHistories } from '../fold-histories.js';
import { specFor } from '../spec-for.js';
import { counter, type CounterEvent } from './counter.decider.js';

const given = specFor(counter);
const opened: CounterEvent = { type: 'CounterOpened', data: { label: '' } };
const by = (n: number): CounterEvent => ({ type: 'CounterIncremented', data: { by: n } });
const closed: CounterEvent = { type: 'CounterClosed', data: { total: 3 } };

describe('counter', () => {
  it('is opened by its first increment, in one commit', () =>
    given().when({ type: 'IncrementCounter', by: 2 }).then(opened, by(2)));
  it('records the total when it closes', () => given(opened, by(1), by(2)).when({ type: 'CloseCounter' }).then(closed));
  it('records nothing when it is closed twice', () =>
    given(opened, closed).when({ type: 'CloseCounter' }).thenNothing());
  it('refuses to close what nobody opened', () =>
    given().when({ type: 'CloseCounter' }).thenRejects('not_found', 'counter_id'));
  it('refuses an increment of a closed one', () =>
    given(opened, closed).when({ type: 'IncrementCounter', by: 1 }).thenRejects('failed_precondition'));

  it('folds what was written before an increment had an amount', () => {
    expect(foldHistories(counter, new URL('history/', import.meta.url))).toEqual({
      '0001-before-by.json': { status: 'open', total: 6 },
    });
  });
});
