import { describe, expect, it } from '@jest/globals';
import { verdict, type Sample } from './soak.js';
import type { Held } from './whole.js';

const PLAN = { clients: 20, requestsPerSecond: 100, callsOfLife: 10, warmupMs: 0, durationMs: 8_000, sampleMs: 1_000 };
const HELD: Held = { sessions: 0, streams: 0, edge_sockets: 12, services_sockets: 40, consumers: 30 };
const all = (value: number) => ({ edge: value, services: value, broker: value, postgres: value });

const sample = (n: number, changes: Partial<Sample> = {}): Sample => ({
  at_s: n + 1,
  seconds: 1,
  requests: 100,
  p50_ms: 1,
  p99_ms: 5,
  lives: 2,
  here: 20,
  failed: 0,
  failures: [],
  memory_mib: all(100),
  cpu_us: all(500),
  ...changes,
});
const samples = (change: (n: number) => Partial<Sample> = () => ({})): Sample[] =>
  Array.from({ length: 8 }, (_, n) => sample(n, change(n)));
const QUIET = { failed: 0, failures: [] };

const missed = (...given: Parameters<typeof verdict>) =>
  verdict(...given)
    .goals.filter(({ reached }) => !reached)
    .map(({ what, value }) => [what, value]);

describe('the verdict on a soak', () => {
  it('is good when nothing grows, fails or stays', () => {
    expect(missed(PLAN, samples(), QUIET, HELD, HELD)).toEqual([]);
  });

  it('forgives what grows while everything warms up', () => {
    const warming = samples((n) => ({ memory_mib: all(n < 2 ? 10 : 100) }));
    expect(missed(PLAN, warming, QUIET, HELD, HELD)).toEqual([]);
  });

  it('judges nothing of the time before it counts, but its failures', () => {
    const warming = samples((n) => ({ memory_mib: all(n < 4 ? 10 + n * 20 : 100) }));
    expect(missed({ ...PLAN, warmupMs: 4_000 }, warming, QUIET, HELD, HELD)).toEqual([]);
    const failing = samples((n) => (n === 0 ? { failed: 1 } : {}));
    expect(missed({ ...PLAN, warmupMs: 4_000 }, failing, QUIET, HELD, HELD)).toEqual([['requests that failed', 1]]);
  });

  it('names the part whose memory grew by more than a tenth', () => {
    const leaking = samples((n) => ({ memory_mib: { ...all(100), services: 100 + n * 4 } }));
    expect(missed(PLAN, leaking, QUIET, HELD, HELD)).toEqual([
      ['memory of services, last quarter against second', 126 / 110],
    ]);
  });

  it('counts every failure, also those of clients that go in the end, and tells the first', () => {
    const failing = samples((n) => (n === 0 ? { failed: 2, failures: ['a', 'b'] } : {}));
    const last = { failed: 1, failures: ['c'] };
    expect(missed(PLAN, failing, last, HELD, HELD)).toEqual([['requests that failed', 3]]);
    expect(verdict(PLAN, failing, last, HELD, HELD).failures).toEqual(['a', 'b', 'c']);
  });

  it('misses a rate that was not held to the end', () => {
    const tiring = samples((n) => ({ requests: n < 6 ? 100 : 90 }));
    expect(missed(PLAN, tiring, QUIET, HELD, HELD)).toEqual([['of the planned rate, last quarter', 0.9]]);
  });

  it('misses whatever is left of the clients, and is content with less than before', () => {
    const after = { sessions: 1, streams: 2, edge_sockets: 15, services_sockets: 30, consumers: 34 };
    expect(missed(PLAN, samples(), QUIET, HELD, after)).toEqual([
      ['sessions left open', 1],
      ['streams left open', 2],
      ['sockets of the edge left open', 3],
      ['consumers left at the broker', 4],
    ]);
  });

  it('counts sessions and streams that an earlier step left behind', () => {
    const dirty = { ...HELD, sessions: 3 };
    expect(missed(PLAN, samples(), QUIET, dirty, dirty)).toEqual([['sessions left open', 3]]);
  });

  it('tells how the cost of a request moved', () => {
    const dearer = samples((n) => ({ cpu_us: { ...all(500), postgres: n < 4 ? 200 : 400 } }));
    const { findings } = verdict(PLAN, dearer, QUIET, HELD, HELD);
    expect(findings).toContainEqual({ what: 'CPU in µs per request of postgres, last quarter', value: 400 });
    expect(findings).toContainEqual({ what: 'requests of the soak', value: 800 });
  });
});
