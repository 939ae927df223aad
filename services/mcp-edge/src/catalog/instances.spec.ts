import { describe, expect, it } from '@jest/globals';
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

describe('a call that was sent to a service', () => {
  const sentAt = (instances: Instances, sent: number, early = false): { told: () => number } => {
    let told = 0;
    instances.hold('team', () => void told++, { sent, early });
    return { told: () => told };
  };
  it('is given up when all who may have taken it are dead, whoever came after it', () => {
    const instances = new Instances();
    instances.seen('team.a', 0);
    const call = sentAt(instances, 1_000);
    instances.seen('team.new', 5_000);
    instances.expire(9_999);
    expect(call.told()).toBe(0);
    instances.expire(10_000);
    instances.expire(30_000);
    expect(call.told()).toBe(1);
  });
  it('is left to whoever was there when it was sent, or came a moment later', () => {
    const instances = new Instances();
    instances.seen('team.a', 0);
    const call = sentAt(instances, 1_000);
    instances.seen('team.b', 1_300);
    instances.expire(10_000);
    expect(call.told()).toBe(0);
    instances.expire(11_300);
    expect(call.told()).toBe(1);
  });
  it('is left to an instance that leaves in order, as long as that may finish it', () => {
    const instances = new Instances();
    instances.seen('team.a', 0);
    const call = sentAt(instances, 1_000);
    instances.gone('team.a', 2_000);
    instances.expire(31_999);
    expect(call.told()).toBe(0);
    instances.expire(32_000);
    expect(call.told()).toBe(1);
  });
  it('that may be sent twice is given up when the first who may have taken it is dead', () => {
    const instances = new Instances();
    instances.seen('team.a', 0);
    instances.seen('team.b', 1_000);
    const call = sentAt(instances, 1_000, true);
    instances.seen('team.b', 9_000);
    // Came after it, and is dead before everybody else.
    instances.seen('team.new', 2_000);
    instances.seen('team.a', 11_000);
    instances.expire(12_000);
    expect(call.told()).toBe(0);
    instances.expire(19_000);
    instances.expire(21_000);
    expect(call.told()).toBe(1);
  });
  it('of another service, or that has its answer, hears nothing', () => {
    const instances = new Instances();
    instances.seen('team.a', 0);
    instances.seen('review.a', 9_000);
    const other: string[] = [];
    instances.hold('review', () => other.push('review'), { sent: 0 });
    instances.hold('team', () => other.push('team'), { sent: 0 })();
    instances.expire(10_000);
    expect(other).toEqual([]);
  });
});
