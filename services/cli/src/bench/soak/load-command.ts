import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../../exit.js';
import type { Times } from '../visit.js';
import { growth, type GrowthPlan } from './growth.js';
import { saturatedStep } from './judge.js';
import { asText, loadReport, type Loaded } from './load-report.js';
import { soak } from './soak.js';
import { raise, type StepPlan } from './steps.js';
import { Whole } from './whole.js';

const PARTS = ['steps', 'soak', 'growth'] as const;

interface Options {
  minutes?: number;
  warmup?: number;
  clients?: number;
  events?: number[];
  only?: (typeof PARTS)[number][];
  quick?: true;
  logs?: string;
  json?: true;
}

interface Plan {
  steps: Omit<StepPlan, 'cores'>;
  soak: { clients: number; warmupMs: number; durationMs: number; sampleMs: number; callsOfLife: number };
  growth: GrowthPlan;
}

/** Of the saturated rate. */
const SHARE = 0.7;
const FULL_TIMES: Times = { warmupMs: 2_500, warmupCalls: 15_000, measureMs: 4_000 };
const QUICK_TIMES: Times = { warmupMs: 500, warmupCalls: 0, measureMs: 500 };

/** The broker keeps what it sent on streams for ten minutes; until then it holds more with every answer. */
const WARMUP_MS = 600_000;

const FULL: Plan = {
  steps: { callers: [1, 2, 4, 8, 16, 32, 64, 128, 256], warmupMs: 8_000, measureMs: 12_000, callsOfLife: 100 },
  soak: { clients: 200, warmupMs: WARMUP_MS, durationMs: 20 * 60_000, sampleMs: 5_000, callsOfLife: 100 },
  growth: { tools: [1, 200, 2_000], sessions: 1_000, events: [1e3, 1e5], times: FULL_TIMES, settleMs: 10_000 },
};
const QUICK: Plan = {
  steps: { callers: [2, 8], warmupMs: 1_000, measureMs: 1_500, callsOfLife: 20 },
  soak: { clients: 20, warmupMs: 0, durationMs: 12_000, sampleMs: 500, callsOfLife: 20 },
  growth: { tools: [1, 200], sessions: 40, events: [1e3], times: QUICK_TIMES, settleMs: 500 },
};

/** `cortex bench load`: where a whole Cortex is saturated, whether it holds that for long, and what makes it dearer. */
export function loadCommand(): Command {
  return new Command('load')
    .description('raise the load on a whole Cortex until it is saturated, hold it there, and see what grows')
    .option('--minutes <n>', `how long it is held at ${SHARE * 100} % of the saturated rate (default: 20)`, someMinutes)
    .option('--warmup <n>', 'minutes of the same before these, which are not judged (default: 10)', minutes)
    .option('--clients <n>', 'MCP clients that come and leave meanwhile (default: 200)', whole)
    .option('--events <n...>', 'events on the log, for the growth, such as 1e7 (default: 1e3 1e5)', sizes)
    .addOption(new Option('--only <part...>', 'these alone; a soak needs the steps').choices(PARTS))
    .option('--quick', 'all of it in small: to see that it runs, not for figures')
    .option('--logs <folder>', 'where the logs of the Cortex of steps and soak are left')
    .option('--json', 'all figures as JSON on stdout')
    .action(async (options: Options) => {
      if (process.platform !== 'linux') throw new CliError('bench reads CPU and memory from /proc; run it on Linux');
      // A Ctrl-C ends what is under way, so that it takes down what it started.
      const stop = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM'] as const) {
        process.once(name, () => stop.abort(new CliError('bench stopped; nothing of it is left running')));
      }
      const loaded = await run(planOf(options), options, stop.signal);
      const report = loadReport(loaded);
      console.log(options.json ? JSON.stringify(report, null, 2) : asText(report));
    });
}

function planOf({ quick, minutes, warmup, clients, events }: Options): Plan {
  const plan = quick ? QUICK : FULL;
  return {
    steps: plan.steps,
    soak: {
      ...plan.soak,
      ...(minutes !== undefined && { durationMs: minutes * 60_000 }),
      ...(warmup !== undefined && { warmupMs: warmup * 60_000 }),
      ...(clients !== undefined && { clients }),
    },
    growth: { ...plan.growth, ...(events !== undefined && { events }) },
  };
}

async function run(plan: Plan, { only = [...PARTS], logs }: Options, signal: AbortSignal): Promise<Loaded> {
  const loaded: Loaded = {};
  const ways = { signal, tell };
  try {
    if (only.includes('steps') || only.includes('soak')) {
      tell('a whole Cortex starts');
      await using cortex = await Whole.start(signal, logs);
      tell('the load is raised');
      loaded.steps = await raise(cortex, { ...plan.steps, cores: availableParallelism() }, ways);
      if (only.includes('soak')) {
        const requestsPerSecond = saturatedStep(loaded.steps).requests_per_s * SHARE;
        const { clients, warmupMs, durationMs } = plan.soak;
        const time = `${warmupMs / 60_000} + ${durationMs / 60_000} minutes`;
        tell(`${clients} clients, ${requestsPerSecond.toFixed(0)} requests/s, ${time}`);
        loaded.soak = await soak(cortex, { ...plan.soak, requestsPerSecond }, ways);
      }
    }
    if (only.includes('growth')) {
      tell('what makes it dearer');
      loaded.growth = await growth(plan.growth, ways);
    }
    return loaded;
  } catch (error) {
    // What was aborted says only that it was.
    throw signal.aborted ? signal.reason : error;
  }
}

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

const minutes = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 10_000))
    throw new InvalidArgumentError('give minutes, 0 to 10000');
  return value;
};
const someMinutes = (text: string): number => {
  const value = minutes(text);
  if (value === 0) throw new InvalidArgumentError('give more than 0 minutes');
  return value;
};
const whole = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('give a whole number from 1 on');
  return value;
};
const sizes = (text: string, before?: number[]): number[] => [...(before ?? []), whole(text)];
