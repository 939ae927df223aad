import { describe, expect, it } from '@jest/globals';
import { CALLS } from './calls-suite.js';
import type { Visit } from './figures.js';
import { GATEWAY } from './gateway-suite.js';
import { asText, report, table } from './report.js';

const visit = (target: string, changes: Partial<Visit> = {}): Visit => ({
  target,
  connections: 16,
  round: 0,
  requests_per_s: 1_000,
  p50_ms: 1,
  p99_ms: 2,
  cpu_us: 80,
  cores: {},
  resident_mib: 200,
  foreign_cores: 0,
  ...changes,
});

describe('the report of a bench', () => {
  it('judges Cortex by its floors, and a goal that this run did not measure not at all', () => {
    const { goals } = report(CALLS, [visit('cortex'), visit('hop', { requests_per_s: 1_250 })], 1);
    const judged = goals.filter(({ reached }) => reached !== null);
    expect(judged.map(({ what, value, reached }) => [what, value, reached])).toEqual([
      ['requests/s against hop, 16 connections', 0.8, false],
      ['edge CPU per call in µs, 16 connections', 80, true],
      ['edge memory under load in MiB, 16 connections', 200, true],
    ]);
  });

  it('compares a variant with Cortex as it is, and the list with the floor of the list', () => {
    const visits = ['cortex', 'hop', 'bytes', 'cortex-list', 'cortex-200-tools'].map((target) => visit(target));
    expect(report(CALLS, visits, 1).ratios.map(({ target, floor }) => `${target} / ${floor}`)).toEqual([
      'cortex / hop',
      'cortex-list / bytes',
      'cortex-200-tools / cortex',
    ]);
  });

  it('judges the gateway by the bare hop: its rate where many call, its time where one does', () => {
    const seen = [1, 16].flatMap((connections) => [
      visit('direct', { connections }),
      visit('proxy', { connections, requests_per_s: 4_000, p50_ms: 0.5 }),
      visit('gateway', { connections, requests_per_s: 1_500, p50_ms: 1 }),
    ]);
    const { goals, ratios } = report(GATEWAY, seen, 1);
    expect(goals.filter(({ reached }) => reached !== null).map(({ what, value }) => [what, value])).toEqual([
      ['requests/s against the hop, 16 connections', 0.375],
      ['p50 against that of the hop, 1 connection', 2],
    ]);
    expect(ratios.map(({ target, floor }) => `${target} / ${floor}`)).toContain('gateway / direct');
  });

  it('says how many visits had neighbours', () => {
    const text = asText(report(CALLS, [visit('cortex', { foreign_cores: 0.5 }), visit('hop')], 1));
    expect(text).toContain('1 of 2 visits had neighbours on more than 0.2 cores');
  });

  it('sums processes of one name', () => {
    const processes = [1, 2].map((pid) => ({ name: 'postgres', pid, mib: 10 }));
    expect(asText(report(CALLS, [visit('cortex')], 1, { atRest: { total_mib: 20, processes } }))).toContain(
      'postgres (2 processes)   20',
    );
  });

  it('a table has columns as wide as their widest cell', () => {
    expect(table(['a', 'b'], [['xxx', '1']]).split('\n')).toEqual(['a    b', '---  -', 'xxx  1']);
  });
});
