import type { Command } from 'commander';
import { elsewhere, type Make, type With } from './make.js';

/** Approved definitions in a signed file. */
export function baseline(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('baseline').description('approved definitions as a file that is signed elsewhere');
  const actions = () => import('../commands/baseline.js');
  group
    .command('keygen')
    .description('make a pair of keys, in two files')
    .option('--out <path>', 'how their names begin', 'baseline')
    .action(async (flags) => (await actions()).keygen(flags));
  elsewhere(command(group, 'proposal', 'print what backends declare now, to be reviewed and signed')).action(
    async (flags) => (await actions()).proposal(flags),
  );
  group
    .command('sign')
    .description('sign a reviewed proposal, in place')
    .argument('<file>')
    .requiredOption('--key <pem>', 'file of the private key')
    .option('--hint <url>', 'where the public key can be found')
    .action(async (file, flags) => (await actions()).sign(file, flags));
  json(group.command('verify').description('whose signature a baseline has, and what is in it'))
    .argument('<file>')
    .requiredOption('--key <pem>', 'file of the public key')
    .option('--against <file>', 'another baseline; what differs is shown by tool')
    .action(async (file, flags) => (await actions()).verify(file, flags));
  elsewhere(json(command(group, 'upload', 'put a signed baseline in force, in place of all that was approved')))
    .argument('<file>')
    .action(async (file, flags) => (await actions()).upload(file, flags));
}
