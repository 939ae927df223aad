import { Command, InvalidArgumentError } from 'commander';
import { CliError } from '../exit.js';
import { memoryAtRest, type AtRest } from './at-rest.js';
import { cortexTarget } from './cortex-target.js';
import { rotated, type Visit } from './figures.js';
import { asText, CORTEX, FOREIGN_CORES, report } from './report.js';
import { FLOORS, type Target } from './targets.js';
import { visit, type Times } from './visit.js';

interface Options {
  rounds: number;
  quick?: true;
  json?: true;
  only?: string[];
}

const TARGETS: readonly Target[] = [
  ...FLOORS,
  cortexTarget({ name: CORTEX, what: '(c) through the edge to a tool of a service, everything on' }),
];
const CONNECTIONS = [1, 16, 64];
const FULL: Times = { warmupMs: 2_500, measureMs: 4_000 };
const QUICK: Times = { warmupMs: 1_000, measureMs: 1_500 };
/** Tries of a visit while neighbours disturb it; then it stands, and the report says so. */
const TRIES = 3;

const whole = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('give a whole number from 1 on');
  return value;
};

/** `cortex bench`: what a call costs, against the floors below it, in one list on one machine. */
export function benchCommand(targets: readonly Target[] = TARGETS): Command {
  return new Command('bench')
    .description('measure tools/call against bare floors: requests/s, latency, CPU per request, memory')
    .option('--rounds <n>', 'rounds; a verdict is the median of their ratios', whole, 3)
    .option('--quick', 'short visits and one round: to see that it runs, not for figures')
    .option('--only <target...>', `of ${targets.map(({ name }) => name).join(', ')}`)
    .option('--json', 'all figures as JSON on stdout')
    .action(async (options: Options) => {
      if (process.platform !== 'linux') throw new CliError('bench reads CPU and memory from /proc; run it on Linux');
      const rounds = options.quick ? 1 : options.rounds;
      const chosen = targets.filter(({ name }) => options.only?.includes(name) ?? true);
      const visits = await measure(chosen, rounds, options.quick ? QUICK : FULL);
      const result = report(visits, rounds, chosen.some(({ name }) => name === CORTEX) ? await weigh() : undefined);
      console.log(options.json ? JSON.stringify(result, null, 2) : asText(result));
    });
}

function weigh(): Promise<AtRest> {
  process.stderr.write('memory of a whole `up` at rest\n');
  return memoryAtRest();
}

/** Pairs of a ratio stand side by side in time: all targets at one number of connections, then the next number. */
async function measure(targets: readonly Target[], rounds: number, times: Times): Promise<Visit[]> {
  const visits: Visit[] = [];
  const total = rounds * CONNECTIONS.length * targets.length;
  for (let round = 0; round < rounds; round++) {
    for (const connections of CONNECTIONS) {
      for (const target of rotated(targets, round)) {
        process.stderr.write(
          `${visits.length + 1}/${total} round ${round + 1}, ${connections} connections, ${target.name}\n`,
        );
        visits.push(await quietVisit(target, connections, round, times));
      }
    }
  }
  return visits;
}

async function quietVisit(target: Target, connections: number, round: number, times: Times): Promise<Visit> {
  let best: Visit | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const seen = await visit(target, connections, round, times);
    if (best === undefined || seen.foreign_cores < best.foreign_cores) best = seen;
    if (best.foreign_cores <= FOREIGN_CORES) break;
    process.stderr.write(
      `  neighbours used ${seen.foreign_cores.toFixed(2)} cores${attempt < TRIES ? ', again' : ''}\n`,
    );
  }
  if (best === undefined) throw new Error('no try of the visit was made');
  return best;
}
