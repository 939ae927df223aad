import { describe, expect, it } from '@jest/globals';
import { bottleneck, cpuOf, drift, isSaturated, saturatedStep, type Part, type Step } from './judge.js';

const IDLE: Record<Part, number> = { edge: 0, services: 0, broker: 0, postgres: 0, callers: 0 };
const step = (requests_per_s: number, cores: Partial<Record<Part, number>> = {}, free_cores = 2): Step => ({
  callers: 8,
  requests_per_s,
  p50_ms: 1,
  p99_ms: 2,
  failed: 0,
  cores: { ...IDLE, ...cores },
  free_cores,
});
const steps = (...rates: number[]) => rates.map((rate) => step(rate));

describe('the search for saturation', () => {
  it('goes on while more callers bring more answers', () => {
    expect(isSaturated(steps(100, 190, 350))).toBe(false);
  });

  it('is not ended by one step that brought nothing', () => {
    expect(isSaturated(steps(100, 200, 190))).toBe(false);
    expect(isSaturated(steps(100, 200, 190, 300))).toBe(false);
  });

  it('ends when two steps in a row brought less than a twentieth', () => {
    expect(isSaturated(steps(100, 200, 209, 205))).toBe(true);
    expect(isSaturated(steps(100, 200, 209, 211))).toBe(false);
  });

  it('cannot end before there is something to compare with', () => {
    expect([isSaturated([]), isSaturated(steps(1)), isSaturated(steps(1, 1))]).toEqual([false, false, false]);
  });

  it('takes the fewest callers that are as good as the best', () => {
    expect(saturatedStep(steps(100, 198, 205, 190)).requests_per_s).toBe(198);
    expect(saturatedStep(steps(100, 150, 300)).requests_per_s).toBe(300);
    expect(() => saturatedStep([])).toThrow('no step was measured');
  });

  it('tells what each part costs a request', () => {
    expect(cpuOf(step(500, { broker: 0.25 }), 'broker')).toBe(500);
  });
});

describe('the bottleneck in words', () => {
  it('is a process at the limit of its core while others are free', () => {
    const said = bottleneck(step(900, { edge: 0.6, services: 0.97, broker: 0.3, callers: 0.4 }, 1.5), 4);
    expect(said).toBe(
      'The next bottleneck is the services process, at the limit of its core: another replica of it is the way to more ' +
        '(cores in use: edge 0.60, services 0.97, broker 0.30, postgres 0.00, callers 0.40, free 1.50 of 4).',
    );
  });

  it('is both that process and the machine when no core is left', () => {
    expect(bottleneck(step(900, { edge: 0.95, services: 0.6, callers: 0.35 }, 0.02), 2)).toContain(
      'The edge process is at the limit of its core, and the machine has no core left',
    );
  });

  it('is the machine when nobody is at the limit of a core', () => {
    expect(bottleneck(step(900, { edge: 0.7, services: 0.3, postgres: 0.5, callers: 0.4 }, 0.1), 2)).toContain(
      'most of them goes to edge 0.70 and postgres 0.50',
    );
  });

  it('is nobody of Cortex when the callers themselves can do no more', () => {
    expect(bottleneck(step(900, { edge: 0.92, callers: 0.95 }, 0.1), 2)).toContain('The callers are at the limit');
  });

  it('is none of these when cores are free: then calls wait', () => {
    expect(bottleneck(step(900, { edge: 0.3, callers: 0.2 }, 1.4), 2)).toContain('calls wait for something else');
  });

  it('cannot be told when neighbours had what Cortex would have taken', () => {
    expect(bottleneck(step(900, { edge: 0.92, services: 0.3 }, 0.05), 2)).toContain(
      'Others on this machine used 0.73 cores, so where the bottleneck is cannot be told',
    );
  });

  it('is not a server of many threads that uses more than a core', () => {
    expect(bottleneck(step(900, { postgres: 2.5 }, 1), 4)).toContain('No process is at the limit of its core');
  });
});

describe('the drift of a soak', () => {
  it('compares the last quarter with the second, so that warming up counts for nothing', () => {
    expect(drift([10, 50, 100, 100, 120, 120, 110, 110])).toEqual({ early: 100, late: 110, ratio: 1.1 });
  });

  it('is that of medians: a single collection or peak moves nothing', () => {
    const { ratio } = drift([0, 0, 0, 100, 100, 900, 1, 1, 1, 100, 20, 100]);
    expect(ratio).toBe(1);
  });

  it('needs a sample of each quarter', () => {
    expect(() => drift([1, 2, 3])).toThrow('3 samples are too few to compare quarters: 4 at least');
  });
});
