import { expect, it } from '@jest/globals';
import { Instances } from './instances.js';

it('a service lives while one of its instances does', () => {
  const instances = new Instances();
  expect(instances.seen('team.a', 0)).toBe(true);
  expect(instances.seen('team.b', 0)).toBe(false);
  expect(instances.gone('team.a')).toBe(false);
  expect(instances.gone('team.b')).toBe(true);
  expect(instances.alive('team')).toBe(false);
});
it('an instance that does not renew counts as dead after ten seconds by our own clock', () => {
  const instances = new Instances();
  instances.seen('team.a', 0);
  expect(instances.expire(9_999)).toBe(false);
  instances.seen('team.a', 3_000);
  expect(instances.expire(12_999)).toBe(false);
  expect(instances.expire(13_000)).toBe(true);
});
it('after an outage everybody gets the time to renew again', () => {
  const instances = new Instances();
  instances.seen('team.a', 0);
  instances.forgive(60_000);
  expect(instances.expire(69_999)).toBe(false);
  expect(instances.expire(70_000)).toBe(true);
});
