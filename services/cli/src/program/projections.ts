import type { Command } from 'commander';
import type { Make, With } from './make.js';

/** The views that are made of the log. */
export function projections(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('projections').description('the views that are made of the log');
  json(command(group, 'status', 'where each stands, and how far behind')).action(async (flags) =>
    (await import('../commands/projections.js')).projectionsStatus(flags),
  );
  json(command(group, 'rebuild', 'make a view anew beside the live one, then swap'))
    .argument('[name]', 'for example tool_calls_v1')
    .option('--all', 'every one of them')
    .action(async (name, flags) => (await import('../commands/projections.js')).projectionsRebuild(name, flags));
}
