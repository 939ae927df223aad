import { Option, type Command } from 'commander';
import type { Make, With } from './make.js';

/** Machines that agents may use. */
export function device(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('device').description('machines that agents may use');
  command(group, 'run', 'join this machine and keep it joined')
    .option('--name <name>', 'name of the machine (default: the host name)')
    .option('--server <url>', 'ws:// or wss:// address of a Cortex elsewhere; needs $CORTEX_CLIENT_TOKEN')
    .option('--join <code>', 'join code of `device join`, for the first time at that server (or $CORTEX_JOIN_CODE)')
    .addOption(new Option('--allow-plaintext', 'let ws:// leave this machine: inside a VPN or tunnel'))
    .action(async (flags) => (await import('../commands/device.js')).deviceRun(flags));
  json(command(group, 'join', 'add a machine and print a code with which it may join once, within 15 minutes'))
    .argument('<name>')
    .action(async (name, flags) => (await import('../commands/device.js')).deviceJoin(name, flags));
  json(command(group, 'revoke', 'forget the key of a machine and close its connection'))
    .argument('<name>')
    .action(async (name, flags) => (await import('../commands/device.js')).deviceRevoke(name, flags));
  json(command(group, 'list', 'machines, and whether they are connected')).action(async (flags) =>
    (await import('../commands/device.js')).deviceList(flags),
  );
}
