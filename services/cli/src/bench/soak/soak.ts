import type { Finding } from '../scenario.js';
import { goal, type Goal } from '../suite.js';
import { startCallers, type Callers } from './callers.js';
import type { CrowdFigures } from './crowd.js';
import { drift, OWN, type OwnPart } from './judge.js';
import { needTeams } from './teams.js';
import type { Held, Whole } from './whole.js';

export interface SoakPlan {
  clients: number;
  requestsPerSecond: number;
  callsOfLife: number;
  /** Until what is kept for a time only is as much as it will be; nothing of it is judged but failures. */
  warmupMs: number;
  /** Behind it. */
  durationMs: number;
  sampleMs: number;
}

/** One look at a soak; what was counted is of the time since the last one. */
export interface Sample extends CrowdFigures {
  /** Since the clients began to come. */
  at_s: number;
  memory_mib: Record<OwnPart, number>;
  /** For a request. */
  cpu_us: Record<OwnPart, number>;
}

export interface Soak {
  planned_per_s: number;
  samples: Sample[];
  before: Held;
  after: Held;
  failures: string[];
  findings: Finding[];
  goals: Goal[];
}

/** Memory may grow by a tenth, from the second to the last quarter. */
const FLAT = 1.1;
/** Of the planned rate. */
const HELD_RATE = 0.95;
const TELL_MS = 60_000;
const LEFT: Readonly<Record<keyof Held, string>> = {
  sessions: 'sessions left open',
  streams: 'streams left open',
  edge_sockets: 'sockets of the edge left open',
  services_sockets: 'sockets of the services left open',
  consumers: 'consumers left at the broker',
};
const KINDS = Object.keys(LEFT) as (keyof Held)[];
/** Streams and sockets end a moment after their clients have gone. */
const SETTLE_MS = 30_000;
const TOLD_FAILURES = 5;

/** Clients that come, call, leave and come anew, at a rate that the installation can hold; and whether anything of them stays. */
export async function soak(
  whole: Whole,
  plan: SoakPlan,
  { signal, tell }: { signal: AbortSignal; tell: (line: string) => void },
): Promise<Soak> {
  const { clients, requestsPerSecond, callsOfLife } = plan;
  const teams = await needTeams(whole, clients);
  const before = await settled(whole, (now) => now.sessions === 0 && now.streams === 0);
  const order = { port: whole.port, teams, clients, kind: 'mixed', requestsPerSecond, callsOfLife } as const;
  await using callers = startCallers(order, signal);
  const samples = await sample(whole, callers, plan, tell);
  const last = await callers.leave();
  const after = await settled(whole, (now) => KINDS.every((kind) => now[kind] <= before[kind]));
  return { planned_per_s: requestsPerSecond, samples, before, after, ...verdict(plan, samples, last, before, after) };
}

async function sample(whole: Whole, callers: Callers, plan: SoakPlan, tell: (line: string) => void): Promise<Sample[]> {
  const samples: Sample[] = [];
  const began = performance.now();
  let used = whole.cpu();
  let told = began;
  const totalMs = plan.warmupMs + plan.durationMs;
  while (performance.now() - began < totalMs) {
    await whole.pause(plan.sampleMs);
    const figures = await callers.figures();
    const now = whole.cpu();
    const perRequest = (part: OwnPart) => ((now[part] - used[part]) / figures.requests) * 1e6;
    const cpu_us = Object.fromEntries(OWN.map((part) => [part, perRequest(part)])) as Record<OwnPart, number>;
    used = now;
    const at_s = (performance.now() - began) / 1000;
    samples.push({ ...figures, at_s, memory_mib: whole.memory(), cpu_us });
    if (performance.now() - told < Math.min(TELL_MS, totalMs / 4)) continue;
    told = performance.now();
    tell(`  ${progress(samples, plan)}`);
  }
  return samples;
}

function progress(samples: readonly Sample[], { warmupMs, durationMs }: SoakPlan): string {
  const last = samples.at(-1);
  const failed = samples.reduce((sum, one) => sum + one.failed, 0);
  const memory = OWN.map((part) => `${part} ${last?.memory_mib[part].toFixed(0)}`).join(', ');
  const rate = (last?.requests ?? 0) / (last?.seconds ?? 1);
  return `${((last?.at_s ?? 0) / 60).toFixed(1)} of ${((warmupMs + durationMs) / 60_000).toFixed(1)} min: ${last?.here} clients, ${rate.toFixed(0)} requests/s, p99 ${last?.p99_ms.toFixed(0)} ms, ${failed} failed; MiB: ${memory}`;
}

/** What is held when it is as it is to be, or after the time that this may take. */
async function settled(whole: Whole, quiet: (held: Held) => boolean): Promise<Held> {
  for (const end = Date.now() + SETTLE_MS; ;) {
    const now = await whole.held();
    if (quiet(now) || Date.now() > end) return now;
    await whole.pause(500);
  }
}

/** Pure: what the samples say. `last` is what was after the last of them, until everybody had gone. */
export function verdict(
  plan: SoakPlan,
  samples: readonly Sample[],
  last: Pick<CrowdFigures, 'failed' | 'failures'>,
  before: Held,
  after: Held,
): Pick<Soak, 'failures' | 'findings' | 'goals'> {
  const all = [...samples, last];
  const sum = (what: 'requests' | 'lives') => samples.reduce((total, one) => total + one[what], 0);
  const judged = samples.filter(({ at_s }) => at_s * 1000 > plan.warmupMs);
  const rates = drift(judged.map(({ requests, seconds }) => requests / seconds));
  const memory = OWN.map((part) => [part, drift(judged.map((one) => one.memory_mib[part]))] as const);
  const cost = OWN.map((part) => [part, drift(judged.map((one) => one.cpu_us[part]))] as const);
  const p99 = drift(judged.map((one) => one.p99_ms));
  const moved = (what: string, { early, late }: { early: number; late: number }): Finding[] => [
    { what: `${what}, second quarter`, value: early },
    { what: `${what}, last quarter`, value: late },
  ];
  // Nobody but us has sessions and streams here; of the others there are some at all times.
  const left = (kind: keyof Held) =>
    goal(LEFT[kind], after[kind] - (kind === 'sessions' || kind === 'streams' ? 0 : before[kind]), 'at most', 0);
  return {
    failures: all.flatMap(({ failures }) => failures).slice(0, TOLD_FAILURES),
    findings: [
      { what: 'requests of the soak', value: sum('requests') },
      { what: 'times that a client came', value: sum('lives') },
      ...moved('p99 in ms of a sample', p99),
      ...memory.flatMap(([part, of]) => moved(`MiB of ${part}`, of)),
      ...cost.flatMap(([part, of]) => moved(`CPU in µs per request of ${part}`, of)),
    ],
    goals: [
      ...memory.map(([part, { ratio }]) =>
        goal(`memory of ${part}, last quarter against second`, ratio, 'at most', FLAT),
      ),
      goal(
        'requests that failed',
        all.reduce((total, { failed }) => total + failed, 0),
        'at most',
        0,
      ),
      goal('of the planned rate, last quarter', rates.late / plan.requestsPerSecond, 'at least', HELD_RATE),
      ...KINDS.map(left),
    ],
  };
}
