import type { Command } from 'commander';
import { strict } from './strict.js';

/** What works on a checkout, and is no part of an installation. */
export function checkout(cortex: Command): void {
  cortex
    .command('test')
    .description('run format check, lint, type check, conformance and all tests (in a checkout)')
    .argument('[jest...]', 'passed on to jest, for example a path')
    .option('--attack', 'only the tests that attack: those named by a threat')
    .action(async (jest, flags) => (await import('../commands/test.js')).test(jest, flags));
  bench(cortex);
  conformance(cortex);
  chaos(cortex);
}

/** The bench has its own command line, which only a run of it has to load. */
function bench(cortex: Command): void {
  cortex
    .command('bench')
    .description('measure the edge beside bare servers, or how much a whole Cortex can take, on this machine')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[options...]', 'see cortex bench --help')
    .action(async (_options, _flags, self: Command) => {
      const { benchCommand } = await import('../bench/bench.js');
      await strict(benchCommand().name('cortex bench')).parseAsync(self.args, { from: 'user' });
    });
}

function conformance(cortex: Command): void {
  cortex
    .command('conformance')
    .description('run the official MCP conformance suite through a gateway of its own (in a checkout)')
    .option('--keep <folder>', 'leave the results of the suite there')
    .option('--record', 'write down how many checks succeed, which later runs must reach')
    .action(async (flags) => (await import('../conformance/conformance.js')).conformance(flags));
}

/** Not a program of an installation: it breaks one that it makes. */
function chaos(cortex: Command): void {
  cortex
    .command('chaos')
    .description('break two replicas of everything in every way while callers call, and check that nothing was lost')
    .option('--short', 'the faults that continuous integration takes, held for less long')
    .option('--each', 'a process for each service')
    .option(
      '--namespaces',
      'host b in a network namespace of its own, so that a cut is one to the kernel too (Linux, root)',
    )
    .option('--only <fault>', 'faults whose name holds this')
    .option('--list', 'the names of the faults')
    .option('--logs <folder>', 'where the logs of all processes are left')
    .option('--json', 'for a program')
    .action(async (flags) => (await import('../chaos/chaos.js')).chaos(flags));
}
