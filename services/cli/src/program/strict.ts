import type { Command, CommanderError } from 'commander';
import { CliError, EXIT } from '../exit.js';

/** Commander has told the problem already. */
class UsageError extends CliError {
  constructor() {
    super('', EXIT.usage);
  }
}

/** A wrong command line has its own exit code. */
export function strict(root: Command): Command {
  const all = [root];
  for (const command of all) {
    all.push(...command.commands);
    command.exitOverride((error: CommanderError) => {
      if (error.exitCode === 0) process.exit(EXIT.ok);
      throw new UsageError();
    });
  }
  return root;
}
