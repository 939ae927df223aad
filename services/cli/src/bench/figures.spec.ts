import { describe, expect, it } from '@jest/globals';
import { median, ratio, rotated, rows, type Visit } from './figures.js';

const visit = (target: string, round: number, requests_per_s: number, cpu_us: number, connections = 16): Visit => ({
  target,
  connections,
  round,
  requests_per_s,
  cpu_us,
  p50_ms: 1,
  p99_ms: 2,
  cores: {},
  resident_mib: 100 + round,
  foreign_cores: 0,
});

describe('figures of the bench', () => {
  it('the median of an even number lies between the middle two', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7]);
  });

  it('a verdict is the median of the ratios of each round, not the ratio of medians', () => {
    const visits = [
      visit('cortex', 0, 100, 50),
      visit('hop', 0, 100, 100),
      // A neighbour came by in this round: both sides are slower, their ratio is not.
      visit('cortex', 1, 40, 60),
      visit('hop', 1, 50, 60),
      visit('cortex', 2, 90, 80),
      visit('hop', 2, 100, 100),
    ];
    expect(ratio(visits, 'cortex', 'hop', 16)).toEqual({
      target: 'cortex',
      floor: 'hop',
      connections: 16,
      requests_per_s: 0.9,
      cpu: 0.8,
      p50: 1,
      rounds: [1, 0.8, 0.9],
    });
  });

  it('there is no verdict where one side is missing', () => {
    expect(ratio([visit('cortex', 0, 1, 1), visit('hop', 1, 1, 1)], 'cortex', 'hop', 16)).toBeUndefined();
  });

  it('a row has the medians of its target and number of connections, and the most memory that was seen', () => {
    const visits = [visit('hop', 0, 10, 5), visit('hop', 1, 30, 7), visit('hop', 2, 20, 6), visit('hop', 0, 99, 9, 64)];
    expect(rows(visits)).toEqual([
      { target: 'hop', connections: 16, requests_per_s: 20, p50_ms: 1, p99_ms: 2, cpu_us: 6, resident_mib: 102 },
      { target: 'hop', connections: 64, requests_per_s: 99, p50_ms: 1, p99_ms: 2, cpu_us: 9, resident_mib: 100 },
    ]);
  });

  it('each round begins with the next target', () => {
    expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
  });
});
