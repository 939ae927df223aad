import type { Command } from 'commander';
import type { Make, With } from './make.js';

const BACKUP = `
Writes what cannot be made anew: the log, kept results of calls, tables that are no views, keys and lists of the home. Calls go on.
`;

const RESTORE = `
Needs a home that is down, or a deployment (CORTEX_ENDPOINT, CORTEX_NATS_URL, CORTEX_DATABASE_URL) whose services are stopped. Every
view is made anew from the log. Passwords of bus and database stay those of the place; keys come from the backup, but into a deployment
by hand.
`;

const ERASE = `
Needs a home that is down, or a deployment whose services are stopped. Call records keep the id, and no content, until they are too old.
`;

/** What outlives an installation, and what must not. */
export function backup(cortex: Command, command: Make, json: With): void {
  const actions = () => import('../commands/backup.js');
  json(command(cortex, 'backup', 'write everything that cannot be made anew into a new folder'))
    .argument('<folder>')
    .addHelpText('after', BACKUP)
    .action(async (folder, flags) => (await actions()).backup(folder, flags));
  json(command(cortex, 'restore', 'put a backup into an empty home or deployment'))
    .argument('<folder>')
    .option('--check', 'only read it, and say whether it is whole')
    .option('--replace', 'delete the data that is there')
    .option('--erased <file>', 'list of what was erased since, config/erased.json of another home')
    .option('--replicas <n>', 'copies of each stream: 1, 3 or 5 (default 1)')
    .addHelpText('after', RESTORE)
    .action(async (folder, flags) => (await actions()).restore(folder, flags));
  const erase = cortex.command('erase').description('delete on demand, for good');
  json(command(erase, 'workspace', 'everything that was ever committed in a workspace'))
    .argument('<workspace>')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', ERASE)
    .action(async (workspace, flags) => (await import('../commands/erase.js')).eraseWorkspace(workspace, flags));
}
