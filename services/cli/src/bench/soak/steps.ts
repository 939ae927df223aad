import { machineBusySeconds, cpuSeconds } from '../processes.js';
import { startCallers, type Callers } from './callers.js';
import { isSaturated, PARTS, type Part, type Step } from './judge.js';
import { needTeams } from './teams.js';
import type { Whole } from './whole.js';

export interface StepPlan {
  /** Numbers of callers, in their order, until more of them bring nothing. */
  callers: readonly number[];
  warmupMs: number;
  measureMs: number;
  callsOfLife: number;
  /** Of the machine. */
  cores: number;
}

/** Raises the load until it is saturated; each step has callers of its own, which leave before the next. */
export async function raise(
  whole: Whole,
  plan: StepPlan,
  { signal, tell }: { signal: AbortSignal; tell: (line: string) => void },
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const callers of plan.callers) {
    const step = await oneStep(whole, callers, plan, signal);
    steps.push(step);
    const { requests_per_s, p50_ms, p99_ms, failed } = step;
    tell(
      `  ${callers} callers: ${requests_per_s.toFixed(0)} requests/s, p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms${failed > 0 ? `, ${failed} FAILED` : ''}`,
    );
    if (isSaturated(steps)) break;
  }
  return steps;
}

async function oneStep(whole: Whole, clients: number, plan: StepPlan, signal: AbortSignal): Promise<Step> {
  const { callsOfLife, warmupMs, measureMs } = plan;
  const teams = await needTeams(whole, clients);
  const order = { port: whole.port, teams, clients, kind: 'mixed', requestsPerSecond: null, callsOfLife } as const;
  await using callers = startCallers(order, signal);
  await whole.pause(warmupMs);
  const before = await look(whole, callers);
  await whole.pause(measureMs);
  const after = await look(whole, callers);
  const { failures } = await callers.leave();
  const { seconds, requests, p50_ms, p99_ms, failed } = after.figures;
  const first = [...before.figures.failures, ...after.figures.failures, ...failures][0];
  if (requests === 0) throw new Error(`no call was answered in ${seconds.toFixed(1)} s; ${first ?? 'none failed'}`);
  const used = (part: Part) => (after.cpu[part] - before.cpu[part]) / seconds;
  const cores = Object.fromEntries(PARTS.map((part) => [part, used(part)])) as Record<Part, number>;
  return {
    callers: clients,
    requests_per_s: requests / seconds,
    p50_ms,
    p99_ms,
    failed: before.figures.failed + failed,
    ...(first !== undefined && { failure: first }),
    cores,
    free_cores: Math.max(0, plan.cores - (after.busy - before.busy) / seconds),
  };
}

async function look(whole: Whole, callers: Callers) {
  const figures = await callers.figures();
  return { figures, cpu: { ...whole.cpu(), callers: cpuSeconds(callers.pid) }, busy: machineBusySeconds() };
}
