import type { Command } from 'commander';
import type { Make, With } from './make.js';

const PROVISION_VARIABLES = `
Variables: CORTEX_NATS_URL, CORTEX_DATABASE_URL (with credentials); without them, the embedded servers of a running home.
Passwords of bus users and roles are those of the home's secrets, which are made when they are missing. Credentials of the
database that the variable does not have are those of the secrets too.
`;

/** What an installation of containers is made of. */
export function deployment(cortex: Command, command: Make, json: With): void {
  json(command(cortex, 'provision', 'make streams, buckets, consumers, roles and schemas; safe to repeat'))
    .option('--nats-config', 'only print the configuration of nats-server with its users and permissions')
    .option('--secrets <file>', 'passwords from this file of `cortex secrets` instead of the home')
    .option('--replicas <n>', 'copies of each stream: 1, 3 or 5 (default 1)')
    .addHelpText('after', PROVISION_VARIABLES)
    .action(async (flags) => (await import('../commands/provision.js')).provisionCommand(flags));

  cortex
    .command('serve')
    .description('run services in this process and nothing beside them, as a container does')
    .argument('<service...>')
    .action(async (names) => (await import('../commands/serve.js')).serve(names));

  command(cortex, 'secrets', 'make the secrets of an installation, and a folder of them for each of its containers')
    .option('--out <dir>', 'where the folders are')
    .option('--owner <uid>', 'user that the files are given to')
    .option('--with <dir>', 'secrets of your own: a folder per service, in it a file per variable')
    .option('--rotate', 'new passwords for bus and database; without --out for a home that is down')
    .action(async (flags) => (await import('../commands/secrets.js')).secrets(flags));

  command(cortex, 'issuer', 'run the development issuer alone, beside services that run elsewhere')
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--keys-under <name>', 'name of this machine by which the services ask for its public keys')
    .action(async (flags) => (await import('../commands/issuer.js')).issuer(flags));
}
