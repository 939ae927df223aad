import type { Command } from 'commander';

/** How the groups of commands make theirs: a command with `--home`. */
export type Make = (parent: Command, name: string, description: string) => Command;
/** Adds `--json`. */
export type With = (to: Command) => Command;
