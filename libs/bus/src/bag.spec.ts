import { expect, it } from '@jest/globals';
import { Bag } from './bag.js';

it('holds what was added and not deleted, in whatever order that happens', () => {
  const bag = new Bag<{ slot: number; n: number }>();
  const model = new Set<{ slot: number; n: number }>();
  const all = Array.from({ length: 50 }, (_, n) => ({ slot: -1, n }));
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let i = 0; i < 5_000; i++) {
    const item = all[random(all.length)];
    if (item === undefined) continue;
    if (model.has(item)) {
      model.delete(item);
      bag.delete(item);
    } else {
      model.add(item);
      bag.add(item);
    }
    expect(bag.size).toBe(model.size);
  }
  expect(new Set(bag.items())).toEqual(model);
});

it('deleting what is not in changes nothing', () => {
  const bag = new Bag();
  const [a, b] = [{ slot: -1 }, { slot: -1 }];
  bag.add(a);
  bag.delete(b);
  bag.delete(a);
  bag.delete(a);
  expect(bag.size).toBe(0);
});
