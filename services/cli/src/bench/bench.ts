import { Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../exit.js';
import { memoryAtRest, type AtRest } from './at-rest.js';
import { listFloor } from './list-floor.js';
import { cortexTarget } from './cortex-target.js';
import { rotated, type Visit } from './figures.js';
import { asText, CORTEX, FOREIGN_CORES, LIST, LONG_CATALOG, report } from './report.js';
import type { Finding } from './scenario.js';
import { SCENARIOS } from './scenarios.js';
import { FLOORS, type Target } from './targets.js';
import { visit, type Times } from './visit.js';

interface Options {
  rounds: number;
  quick?: true;
  full?: true;
  json?: true;
  only?: string[];
}

const CONNECTIONS = [1, 16, 64];
const JUDGED = [16, 64];
/** More than the catalog will have. */
const LISTED = 200;

/** All targets, each with the numbers of connections at which it is visited. */
const TARGETS: readonly { target: Target; at: readonly number[]; full?: true }[] = [
  ...[
    ...FLOORS,
    cortexTarget({ name: CORTEX, what: '(c) through the edge to a tool of a service, everything on' }),
  ].map((target) => ({ target, at: CONNECTIONS })),
  { target: listFloor('bytes', `a bare server of the bytes of a list of ${LISTED} tools`, LISTED), at: JUDGED },
  {
    target: cortexTarget({ name: LIST, what: `(d) tools/list of ${LISTED} tools`, tools: LISTED, list: true }),
    at: JUDGED,
  },
  // What changes the cost of a call, against the call as it is.
  ...[
    cortexTarget({ name: LONG_CATALOG, what: '200 tools in the catalog instead of 1', tools: 200 }),
    cortexTarget({ name: 'cortex-16-kib', what: 'a reply of 16 KiB instead of 1', times: 16 }),
    cortexTarget({ name: 'cortex-no-traces', what: 'no call is sampled', env: { CORTEX_TRACE_SAMPLE: '0' } }),
    cortexTarget({ name: 'cortex-all-traces', what: 'every call is sampled', env: { CORTEX_TRACE_SAMPLE: '1' } }),
  ].map((target) => ({ target, at: [16], full: true as const })),
];
const FULL: Times = { warmupMs: 2_500, warmupCalls: 15_000, measureMs: 4_000 };
const QUICK: Times = { warmupMs: 1_000, warmupCalls: 0, measureMs: 1_500 };
/** Tries of a visit while neighbours disturb it; then the quietest stands, and the report says so. */
const TRIES = 3;

const whole = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('give a whole number from 1 on');
  return value;
};

/** `cortex bench`: what a call costs, against the floors below it, in one list on one machine. */
export function benchCommand(): Command {
  const all = [...TARGETS.map(({ target }) => target), ...SCENARIOS];
  const names = all.map(({ name }) => name);
  return new Command('bench')
    .description('measure tools/call against bare floors: requests/s, latency, CPU per request, memory')
    .option('--rounds <n>', 'rounds; a verdict is the median of their ratios', whole, 3)
    .option('--quick', 'short visits and one round: to see that it runs, not for figures')
    .option('--full', 'also what changes the cost: a long catalog, big replies, no traces and all')
    .addOption(new Option('--only <target...>', 'these alone').choices(names))
    .option('--json', 'all figures as JSON on stdout')
    .addHelpText('after', `\nTargets:\n${all.map(({ name, what }) => `  ${name.padEnd(18)}${what}`).join('\n')}\n`)
    .action(async (options: Options) => {
      if (process.platform !== 'linux') throw new CliError('bench reads CPU and memory from /proc; run it on Linux');
      const rounds = options.quick ? 1 : options.rounds;
      // A Ctrl-C ends the visit, so that it takes down what it started.
      const stop = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        process.once(name, () => stop.abort(new CliError('bench stopped; nothing of it is left running')));
      }
      const plan = planOf(rounds, options);
      const visits: Visit[] = [];
      for (const [i, { target, connections, round }] of plan.entries()) {
        tell(`${i + 1}/${plan.length} round ${round + 1}, ${connections} connections, ${target.name}`);
        visits.push(
          options.quick
            ? await visit(target, connections, round, QUICK, stop.signal)
            : await quietVisit(target, connections, round, stop.signal),
        );
      }
      const findings: Finding[] = [];
      for (const scenario of SCENARIOS.filter(({ name }) => options.only?.includes(name) ?? true)) {
        tell(scenario.what);
        findings.push(...(await scenario.run({ quick: options.quick === true, signal: stop.signal, tell })));
      }
      const atRest = visits.some(({ target }) => target === CORTEX) ? await weigh() : undefined;
      const result = report(visits, rounds, { findings, ...(atRest && { atRest }) });
      console.log(options.json ? JSON.stringify(result, null, 2) : asText(result));
    });
}

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

interface Planned {
  target: Target;
  connections: number;
  round: number;
}

/** Pairs of a ratio stand side by side in time: all targets at one number of connections, then the next number. */
function planOf(rounds: number, { full, only }: Options): Planned[] {
  const wanted = TARGETS.filter((one) => only?.includes(one.target.name) ?? (full || !one.full));
  const targetsAt = (connections: number) =>
    wanted.filter(({ at }) => at.includes(connections)).map(({ target }) => target);
  return Array.from({ length: rounds }, (_, round) =>
    CONNECTIONS.flatMap((connections) =>
      rotated(targetsAt(connections), round).map((target) => ({ target, connections, round })),
    ),
  ).flat();
}

function weigh(): Promise<AtRest> {
  tell('memory of a whole `up` at rest');
  return memoryAtRest();
}

async function quietVisit(target: Target, connections: number, round: number, signal: AbortSignal): Promise<Visit> {
  let best: Visit | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const seen = await visit(target, connections, round, FULL, signal);
    if (best === undefined || seen.foreign_cores < best.foreign_cores) best = seen;
    if (best.foreign_cores <= FOREIGN_CORES) break;
    tell(`  neighbours used ${seen.foreign_cores.toFixed(2)} cores${attempt < TRIES ? ', again' : ''}`);
  }
  if (best === undefined) throw new Error('no try of the visit was made');
  return best;
}
