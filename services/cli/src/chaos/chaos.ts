import { CliError, EXIT } from '../exit.js';
import { print, printJson, table, tell } from '../output.js';
import { makeToken } from '../token.js';
import {
  answersAreInTheLogOnce,
  everyCallHasItsEnd,
  noConsumerIsStuck,
  nothingLeftTheLog,
  viewsEqualARebuild,
} from './checks.js';
import { faultsOf, HOLD_MS, type Fault } from './faults.js';
import { Fleet } from './fleet.js';
import { Traffic, type Told } from './traffic.js';

export interface ChaosFlags {
  short?: boolean;
  each?: boolean;
  namespaces?: boolean;
  only?: string;
  logs?: string;
  list?: boolean;
  json?: boolean;
}

interface Result {
  fault: string;
  /** Calls sent, those refused or cut off and sent again included. */
  calls: number;
  refused: number;
  /** The longest time without a good answer, from the fault on. */
  recovery_ms: number | null;
  problems: string[];
}

const BEFORE = 30;
const AFTER = 60;
const RECOVERY_LIMIT_MS = 120_000;

/**
 * Breaks a fleet of two replicas in every way it can while callers call, and checks after each that no answer was lost, doubled or left
 * hanging. Exit code 1 when something was.
 */
export async function chaos(flags: ChaosFlags): Promise<void> {
  if (flags.list)
    return print(
      faultsOf(['a/mcp-edge', 'a/services', 'b/mcp-edge', 'b/services'])
        .map(({ name }) => name)
        .join('\n'),
    );
  await using fleet = await Fleet.start({ each: flags.each, namespaces: flags.namespaces, logs: flags.logs, tell });
  // Whoever stops it is left no process, no folder and no network namespace.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void fleet[Symbol.asyncDispose]().finally(() => process.exit(EXIT.failed)));
  const faults = chosen(faultsOf(fleet.members), flags);
  const callers = {
    edges: fleet.edges,
    named: new URL(fleet.state.endpoint).host,
    token: makeToken(fleet.home, {}),
  };
  await Traffic.settled(callers);
  const told: Told[] = [];
  const results: Result[] = [];
  for (const fault of faults) {
    tell(fault.name);
    const result = await broken(fleet, fault, new Traffic(callers), told, flags.short === true);
    results.push(result);
    tell(
      `${fault.name}: ${result.problems.length === 0 ? `good again after ${result.recovery_ms} ms` : result.problems[0]}`,
    );
  }
  tell('rebuilding every view');
  const differences = await viewsEqualARebuild(fleet);
  results.push({ fault: 'rebuild of every view', calls: 0, refused: 0, recovery_ms: null, problems: differences });
  report(results, flags);
}

function chosen(all: readonly Fault[], { short, only }: ChaosFlags): Fault[] {
  if (only === undefined) return all.filter((fault) => !short || fault.short === true);
  const found = all.filter(({ name }) => name.includes(only));
  if (found.length === 0)
    throw new CliError(
      `no fault is called ${JSON.stringify(only)}; there are: ${all.map((f) => f.name).join(', ')}`,
      EXIT.usage,
    );
  return found;
}

async function broken(fleet: Fleet, fault: Fault, traffic: Traffic, told: Told[], short: boolean): Promise<Result> {
  const problems: string[] = [];
  if (!(await traffic.more(BEFORE, RECOVERY_LIMIT_MS))) problems.push('calls were not answered before the fault');
  const from = performance.now();
  await fault.strike(fleet, short ? HOLD_MS.short : HOLD_MS.long);
  if (!(await traffic.more(AFTER, RECOVERY_LIMIT_MS))) problems.push('calls are not answered after the fault');
  await fleet.ready().catch((error: Error) => problems.push(error.message));
  const recovery_ms = Math.round(traffic.gapSince(from));
  await traffic.stop();
  told.push(...traffic.told);
  problems.push(...traffic.surprises);
  problems.push(...(await noConsumerIsStuck(fleet)));
  problems.push(...(await nothingLeftTheLog(fleet)));
  problems.push(...(await answersAreInTheLogOnce(fleet, told)));
  problems.push(...(await everyCallHasItsEnd(fleet)));
  return { fault: fault.name, calls: traffic.calls, refused: traffic.refused, recovery_ms, problems };
}

function report(results: readonly Result[], { json }: ChaosFlags): void {
  const failed = results.filter(({ problems }) => problems.length > 0);
  if (json) printJson({ results, failed: failed.length });
  else {
    print(
      table([
        ['fault', 'calls', 'refused', 'longest wait', 'verdict'],
        ...results.map(({ fault, calls, refused, recovery_ms, problems }) => [
          fault,
          String(calls),
          String(refused),
          recovery_ms === null ? '' : `${(recovery_ms / 1000).toFixed(1)} s`,
          problems.length === 0 ? 'good' : `${problems.length} problems`,
        ]),
      ]),
    );
    for (const { fault, problems } of failed)
      for (const problem of problems.slice(0, 20)) print(`${fault}: ${problem}`);
    print(`${results.length - failed.length} passed, ${failed.length} failed`);
  }
  if (failed.length > 0) process.exitCode = EXIT.failed;
}
