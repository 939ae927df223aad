import type { Command } from 'commander';

/** How the groups of commands make theirs: a command with `--home`. */
export type Make = (parent: Command, name: string, description: string) => Command;
/** Adds `--json`. */
export type With = (to: Command) => Command;

/** Adds `--url`: for operators of a Cortex that does not run in a home of this machine. */
export const elsewhere: With = (to) => to.option('--url <origin>', 'of a Cortex elsewhere; needs $CORTEX_ADMIN_SECRET');
