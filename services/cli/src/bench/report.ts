import { availableParallelism, cpus } from 'node:os';
import { ratio, rows, type Ratio, type Row, type Visit } from './figures.js';
import type { AtRest } from './at-rest.js';
import type { Finding } from './scenario.js';
import { goal, type Goal, type Suite } from './suite.js';

/** When and on what it was measured. */
export interface Machine {
  at: string;
  node: string;
  cpu: string;
  cores: number;
}

export const machine = (): Machine => ({
  at: new Date().toISOString(),
  node: process.version,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: availableParallelism(),
});

export interface Report extends Machine {
  rounds: number;
  /** Visits that stand although neighbours used more than the allowed cores in every try. */
  disturbed: number;
  rows: Row[];
  ratios: Ratio[];
  /** Of the scenarios, those that are told and not judged. */
  findings: Finding[];
  at_rest?: AtRest;
  goals: Goal[];
  visits: Visit[];
}

export const FOREIGN_CORES = 0.2;

export function report(
  suite: Pick<Suite, 'pairs' | 'goals'>,
  visits: Visit[],
  rounds: number,
  { atRest, findings = [] }: { atRest?: AtRest; findings?: readonly Finding[] } = {},
): Report {
  const table = rows(visits);
  const connections = [...new Set(visits.map((visit) => visit.connections))];
  const pairs = suite.pairs([...new Set(visits.map((visit) => visit.target))]);
  const ratios = connections.flatMap((n) => pairs.flatMap(([target, floor]) => ratio(visits, target, floor, n) ?? []));
  const goals = [
    ...suite.goals({ rows: table, ratios, ...(atRest && { atRest }) }),
    ...findings.flatMap(({ what, value, goal: of }) => (of ? goal(what, value, of.bound, of.limit) : [])),
  ];
  return {
    ...machine(),
    rounds,
    disturbed: visits.filter((visit) => visit.foreign_cores > FOREIGN_CORES).length,
    rows: table,
    ratios,
    findings: findings.filter((finding) => finding.goal === undefined),
    ...(atRest && { at_rest: atRest }),
    goals,
    visits,
  };
}

/** Columns as wide as their widest cell; the first to the left, numbers to the right. */
export function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const all = [head, ...lines];
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  const write = (line: readonly string[]) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ');
  return [write(head), widths.map((width) => '-'.repeat(width)).join('  '), ...lines.map(write)].join('\n');
}

const REACHED = new Map([
  [true, 'reached'],
  [false, 'MISSED'],
]);

/** Of goals that were measured; nothing where none was. */
export function goalTable(goals: readonly Goal[]): string[] {
  const lines = goals
    .filter(({ value }) => value !== null)
    .map((g) => [g.what, (g.value ?? 0).toFixed(2), `${g.bound} ${g.limit}`, REACHED.get(g.reached ?? false) ?? '']);
  return lines.length > 0 ? [table(['goal', 'is', 'wanted', ''], lines)] : [];
}

export const findingTable = (findings: readonly Finding[]): string[] =>
  findings.length === 0
    ? []
    : [
        table(
          ['measured', ''],
          findings.map(({ what, value }) => [what, value.toFixed(2)]),
        ),
      ];

export function asText(r: Report): string {
  const figures = r.rows
    .toSorted((a, b) => a.connections - b.connections)
    .map((row) => [
      row.target,
      String(row.connections),
      row.requests_per_s.toFixed(0),
      row.p50_ms.toFixed(2),
      row.p99_ms.toFixed(2),
      row.cpu_us.toFixed(0),
      row.resident_mib.toFixed(0),
    ]);
  const ratios = r.ratios.map((of) => [
    `${of.target} / ${of.floor}`,
    String(of.connections),
    of.requests_per_s.toFixed(2),
    of.cpu.toFixed(2),
    of.p50.toFixed(2),
    of.rounds.map((value) => value.toFixed(2)).join(' '),
  ]);
  const parts = [
    `${r.cpu}, ${r.cores} cores, Node ${r.node}, ${r.rounds} rounds; medians, CPU and memory of the server process alone`,
  ];
  if (figures.length > 0)
    parts.push(table(['target', 'connections', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'RSS MiB'], figures));
  if (ratios.length > 0) parts.push(table(['ratio', 'connections', 'req/s', 'CPU', 'p50', 'rounds'], ratios));
  parts.push(...findingTable(r.findings));
  if (r.at_rest) {
    const names = Map.groupBy(r.at_rest.processes, ({ name }) => name);
    const processes = [...names].map(([name, all]) => [
      all.length > 1 ? `${name} (${all.length} processes)` : name,
      all.reduce((sum, { mib }) => sum + mib, 0).toFixed(0),
    ]);
    parts.push(table(['at rest', 'MiB'], [...processes, ['all', r.at_rest.total_mib.toFixed(0)]]));
  }
  parts.push(...goalTable(r.goals));
  if (r.disturbed > 0) {
    parts.push(
      `${r.disturbed} of ${r.visits.length} visits had neighbours on more than ${FOREIGN_CORES} cores: run it again on a quiet machine before you believe a close figure.`,
    );
  }
  return parts.join('\n\n');
}
