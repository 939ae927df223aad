import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../exit.js';
import { memoryAtRest, type AtRest } from './at-rest.js';
import { CALLS } from './calls-suite.js';
import { rotated, type Visit } from './figures.js';
import { GATEWAY } from './gateway-suite.js';
import { asText, FOREIGN_CORES, report } from './report.js';
import type { Finding } from './scenario.js';
import { loadCommand } from './soak/load-command.js';
import { CONNECTIONS, type Suite } from './suite.js';
import type { Target } from './targets.js';
import { visit, type Times } from './visit.js';

interface Options {
  rounds: number;
  quick?: true;
  full?: true;
  json?: true;
  only?: string[];
}

const SUITES: readonly Suite[] = [CALLS, GATEWAY];
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
  const names = SUITES.flatMap((suite) => namesOf(suite).map(([name]) => name));
  return (
    new Command('bench')
      .description('measure tools/call against bare floors: requests/s, latency, CPU per request, memory')
      // `load` has options of its own by the same names.
      .enablePositionalOptions()
      .addCommand(loadCommand())
      .addArgument(
        new Argument('[suite]', SUITES.map(({ name, what }) => `${name}: ${what}`).join('; '))
          .choices(SUITES.map(({ name }) => name))
          .default(CALLS.name),
      )
      .option('--rounds <n>', 'rounds; a verdict is the median of their ratios', whole, 3)
      .option('--quick', 'short visits and one round: to see that it runs, not for figures')
      .option('--full', 'also what changes the cost: a long catalog, big replies, no traces and all')
      .addOption(new Option('--only <target...>', 'these alone').choices(names))
      .option('--json', 'all figures as JSON on stdout')
      .addHelpText('after', `\n${SUITES.map(helpOf).join('\n')}`)
      .action(async (name: string, options: Options) => {
        const suite = SUITES.find((one) => one.name === name) ?? CALLS;
        if (process.platform !== 'linux') throw new CliError('bench reads CPU and memory from /proc; run it on Linux');
        const rounds = options.quick ? 1 : options.rounds;
        // A Ctrl-C ends the visit, so that it takes down what it started.
        const stop = new AbortController();
        for (const name of ['SIGINT', 'SIGTERM'] as const) {
          process.once(name, () => stop.abort(new CliError('bench stopped; nothing of it is left running')));
        }
        const plan = planOf(suite, rounds, options);
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
        for (const scenario of suite.scenarios.filter(({ name }) => options.only?.includes(name) ?? true)) {
          tell(scenario.what);
          findings.push(...(await scenario.run({ quick: options.quick === true, signal: stop.signal, tell })));
        }
        const atRest = visits.some(({ target }) => target === suite.weighedWith) ? await weigh() : undefined;
        const result = report(suite, visits, rounds, { findings, ...(atRest && { atRest }) });
        console.log(options.json ? JSON.stringify(result, null, 2) : asText(result));
      })
  );
}

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

/** Names and what they are, of all that can be measured alone. */
const namesOf = ({ targets, scenarios }: Suite): (readonly [name: string, what: string])[] => [
  ...targets.map(({ target: { name, what } }) => [name, what] as const),
  ...scenarios.map(({ name, what }) => [name, what] as const),
];
const helpOf = (suite: Suite): string =>
  `Targets of ${suite.name}:\n${namesOf(suite)
    .map(([name, what]) => `  ${name.padEnd(18)}${what}\n`)
    .join('')}`;

interface Planned {
  target: Target;
  connections: number;
  round: number;
}

/** Pairs of a ratio stand side by side in time: all targets at one number of connections, then the next number. */
function planOf({ targets }: Suite, rounds: number, { full, only }: Options): Planned[] {
  const wanted = targets.filter((one) => only?.includes(one.target.name) ?? (full || !one.full));
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
