import type { Command } from 'commander';

/** The same as the program `cortex-signal`, which reads its own words: a message may begin with `--`. */
export function signal(cortex: Command): void {
  cortex
    .command('signal')
    .description('tell a waitpoint that a job has ended (as $CORTEX_HOME/bin/cortex-signal does)')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[flags...]', 'see cortex signal --help')
    .action(async (_flags, _options, self: Command) =>
      (await import('../commands/signal.js')).signalCommand(self.args),
    );
}
