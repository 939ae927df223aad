import { describe, expect, it } from '@jest/globals';
import type { Step } from './judge.js';
import { asText, loadReport } from './load-report.js';

const ON = { at: '2026-01-01T00:00:00.000Z', node: 'v24.0.0', cpu: 'a processor', cores: 4 };
const step = (callers: number, requests_per_s: number, changes: Partial<Step> = {}): Step => ({
  callers,
  requests_per_s,
  p50_ms: 2,
  p99_ms: 9,
  failed: 0,
  cores: { edge: 0.95, services: 0.5, broker: 0.2, postgres: 0.1, callers: 0.5 },
  free_cores: 1.75,
  ...changes,
});

describe('the report of a load', () => {
  it('has a line for each step, and says where it is saturated and by whom', () => {
    const text = asText(loadReport({ steps: [step(1, 500), step(4, 1_000), step(8, 1_010)] }, ON));
    expect(text).toContain('4         1000    2.00    9.00      950          500        200          100        1.75');
    expect(text).toContain('Saturated at 1000 requests/s. The next bottleneck is the edge process');
    expect(text).not.toContain('neighbours');
  });

  it('tells a failure, and misses the goal that there is none', () => {
    const text = asText(loadReport({ steps: [step(1, 500, { failed: 3, failure: 'client 0: status 503' })] }, ON));
    expect(text).toMatch(/requests that failed while the load was raised +3.00 +at most 0 +MISSED/);
    expect(text).toContain('Failed, the first ones:\nclient 0: status 503');
  });

  it('warns of neighbours', () => {
    const text = asText(loadReport({ steps: [step(1, 500, { free_cores: 1 })] }, ON));
    expect(text).toContain('In 1 of 1 steps neighbours used more than 0.2 cores');
  });

  it('judges nothing that was not measured', () => {
    expect(loadReport({ growth: [{ what: 'MiB', value: 1 }] }, ON)).toEqual({
      ...ON,
      growth: [{ what: 'MiB', value: 1 }],
      goals: [],
    });
  });
});
