import { expect, it } from '@jest/globals';
import { startService } from '../start-service.js';
import { counterGet, counterIncrement, counterService } from './counter.service.js';

it('is seen by the next read of the same caller', async () => {
  await using app = await startService(counterService);
  expect(await app.call(counterIncrement, { counter_id: 'c1', by: 2 })).toEqual({ counter_id: 'c1', total: 2 });
  expect(await app.call(counterIncrement, { counter_id: 'c1' })).toEqual({ counter_id: 'c1', total: 3 });
  expect(await app.call(counterGet, { counter_id: 'c1' })).toEqual({ total: 3, commits: 2 });
});
