import type { Command } from 'commander';
import type { Make, With } from './make.js';

/** Limits of spending. */
export function budget(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('budget').description('limits of spending; they warn, nothing is stopped by them');
  json(command(group, 'show', 'the limits in force')).action(async (flags) =>
    (await import('../commands/budget.js')).budgetShow(flags),
  );
  json(command(group, 'set', 'set both limits: of one project, or of all together'))
    .requiredOption('--daily <usd>', 'US dollars a day')
    .requiredOption('--monthly <usd>', 'US dollars a month')
    .option('--project <name>', 'of this project alone')
    .action(async (flags) => (await import('../commands/budget.js')).budgetSet(flags));
  json(command(group, 'clear', 'let a project go by the limits of all projects again'))
    .argument('<project>')
    .action(async (project, flags) => (await import('../commands/budget.js')).budgetClear(project, flags));
}
