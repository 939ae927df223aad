import { median } from '../figures.js';
import { FOREIGN_CORES } from '../report.js';

/** What a whole Cortex is made of, and who calls it. Edge, services and callers are Node processes: one core each but for the collector. */
export const PARTS = ['edge', 'services', 'broker', 'postgres', 'callers'] as const;
export type Part = (typeof PARTS)[number];
export type OwnPart = Exclude<Part, 'callers'>;
/** Those that are Cortex. */
export const OWN = PARTS.filter((part): part is OwnPart => part !== 'callers');
const ONE_CORE: readonly Part[] = ['callers', 'edge', 'services'];

/** One number of callers, each with one request under way at any time. */
export interface Step {
  callers: number;
  requests_per_s: number;
  p50_ms: number;
  p99_ms: number;
  failed: number;
  /** The first one, in words. */
  failure?: string;
  /** Cores that each part kept busy. */
  cores: Record<Part, number>;
  /** Cores of the machine that nobody used. */
  free_cores: number;
}

/** A step that brings less than this more than the best before it brings nothing. */
const GAIN = 1.05;
/** So many of them in a row end the search: one alone may be a neighbour's doing. */
const IN_VAIN = 2;

/** Whether more callers no longer bring more answers. */
export function isSaturated(steps: readonly Step[]): boolean {
  if (steps.length <= IN_VAIN) return false;
  const before = Math.max(...steps.slice(0, -IN_VAIN).map((step) => step.requests_per_s));
  return steps.slice(-IN_VAIN).every((step) => step.requests_per_s < before * GAIN);
}

/** The step with the fewest callers that is as good as the best one: what comes behind it only waits longer. */
export function saturatedStep(steps: readonly Step[]): Step {
  const best = Math.max(...steps.map((step) => step.requests_per_s));
  const step = steps.find(({ requests_per_s }) => requests_per_s * GAIN >= best);
  if (step === undefined) throw new Error('no step was measured');
  return step;
}

/** Microseconds of CPU of a part for one request. */
export const cpuOf = ({ cores, requests_per_s }: Pick<Step, 'cores' | 'requests_per_s'>, part: Part): number =>
  (cores[part] / requests_per_s) * 1e6;

/** From here on a thread has no time left to speak of. */
const FULL = 0.9;
/** Of each core of the machine. */
const IDLE = 0.1;

/** Cores that nobody of the list used: neighbours. */
export const foreignCores = ({ cores, free_cores }: Pick<Step, 'cores' | 'free_cores'>, machineCores: number): number =>
  Math.max(0, machineCores - free_cores - PARTS.reduce((sum, part) => sum + cores[part], 0));

/** Who keeps a saturated Cortex from more, in words. */
export function bottleneck(step: Step, machineCores: number): string {
  const { cores, free_cores } = step;
  const of = (part: Part): string => `${part} ${cores[part].toFixed(2)}`;
  const foreign = foreignCores(step, machineCores);
  const full = ONE_CORE.filter((part) => cores[part] >= FULL).toSorted((a, b) => cores[b] - cores[a])[0];
  const noneFree = free_cores < IDLE * machineCores;
  const dearest = OWN.toSorted((a, b) => cores[b] - cores[a])
    .slice(0, 2)
    .map(of);
  const used = `cores in use: ${PARTS.map(of).join(', ')}, free ${free_cores.toFixed(2)} of ${machineCores}`;
  if (full === 'callers')
    return `The callers are at the limit of their core: Cortex can do more than this, how much they cannot tell (${used}).`;
  if (noneFree && foreign > FOREIGN_CORES)
    return `Others on this machine used ${foreign.toFixed(2)} cores, so where the bottleneck is cannot be told: run it again on a quiet machine (${used}).`;
  if (full !== undefined && !noneFree)
    return `The next bottleneck is the ${full} process, at the limit of its core: another replica of it is the way to more (${used}).`;
  if (full !== undefined)
    return `The ${full} process is at the limit of its core, and the machine has no core left: more needs both another replica of it and more cores (${used}).`;
  if (noneFree)
    return `The machine is the bottleneck, all its cores are in use and no process is at the limit of one: more cores are the way to more; most of them goes to ${dearest.join(' and ')} (${used}).`;
  return `No process is at the limit of its core and cores are free: calls wait for something else, such as the disk under broker or database, or for each other (${used}).`;
}

/** How a figure moved over a soak. */
export interface Drift {
  /** Medians of the second and of the last quarter; the first one is for warming up. */
  early: number;
  late: number;
  /** late / early. */
  ratio: number;
}

/** Of samples in the order of time. */
export function drift(samples: readonly number[]): Drift {
  const quarter = Math.floor(samples.length / 4);
  if (quarter === 0) throw new Error(`${samples.length} samples are too few to compare quarters: 4 at least`);
  const early = median(samples.slice(quarter, 2 * quarter));
  const late = median(samples.slice(-quarter));
  return { early, late, ratio: late / early };
}
