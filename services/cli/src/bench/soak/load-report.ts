import type { Finding } from '../scenario.js';
import { findingTable, FOREIGN_CORES, goalTable, machine, table, type Machine } from '../report.js';
import { goal, type Goal } from '../suite.js';
import { bottleneck, cpuOf, foreignCores, OWN, saturatedStep, type Step } from './judge.js';
import type { Soak } from './soak.js';

/** What was measured; parts that were not asked for are missing. */
export interface Loaded {
  steps?: Step[];
  soak?: Soak;
  growth?: Finding[];
}

export interface LoadReport extends Machine, Loaded {
  /** Requests per second at saturation. */
  saturated_per_s?: number;
  /** Who keeps it from more, in words. */
  bottleneck?: string;
  goals: Goal[];
}

export function loadReport({ steps, soak, growth }: Loaded, on: Machine = machine()): LoadReport {
  const saturated = steps && saturatedStep(steps);
  const failed = steps?.reduce((sum, step) => sum + step.failed, 0);
  return {
    ...on,
    ...(steps && { steps }),
    ...(saturated && {
      saturated_per_s: saturated.requests_per_s,
      bottleneck: bottleneck(saturated, on.cores),
    }),
    ...(soak && { soak }),
    ...(growth && { growth }),
    goals: [
      ...(failed === undefined ? [] : [goal('requests that failed while the load was raised', failed, 'at most', 0)]),
      ...(soak?.goals ?? []),
    ],
  };
}

export function asText(r: LoadReport): string {
  const parts = [`${r.cpu}, ${r.cores} cores, Node ${r.node}`];
  if (r.steps) {
    const head = ['callers', 'req/s', 'p50 ms', 'p99 ms', ...OWN.map((part) => `${part} µs`), 'free cores'];
    parts.push(table(head, r.steps.map(lineOf)));
    parts.push(`Saturated at ${r.saturated_per_s?.toFixed(0)} requests/s. ${r.bottleneck}`);
  }
  const disturbed = r.steps?.filter((step) => foreignCores(step, r.cores) > FOREIGN_CORES).length ?? 0;
  if (disturbed > 0)
    parts.push(
      `In ${disturbed} of ${r.steps?.length} steps neighbours used more than ${FOREIGN_CORES} cores: run it again on a quiet machine before you believe a figure.`,
    );
  if (r.soak) parts.push(`Held at ${r.soak.planned_per_s.toFixed(0)} requests/s:`, ...findingTable(r.soak.findings));
  if (r.growth) parts.push(...findingTable(r.growth));
  parts.push(...goalTable(r.goals));
  const failures = [...(r.steps ?? []).flatMap(({ failure }) => failure ?? []), ...(r.soak?.failures ?? [])];
  if (failures.length > 0) parts.push(['Failed, the first ones:', ...failures].join('\n'));
  return parts.join('\n\n');
}

const lineOf = (step: Step): string[] => [
  String(step.callers),
  step.requests_per_s.toFixed(0),
  step.p50_ms.toFixed(2),
  step.p99_ms.toFixed(2),
  ...OWN.map((part) => cpuOf(step, part).toFixed(0)),
  step.free_cores.toFixed(2),
];
