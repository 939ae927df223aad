import type { Command } from 'commander';
import type { Make, With } from './make.js';

const EVENT_STREAMS = `
Both streams (commits and tool-call records) in order of arrival: with --follow from now on, else from the beginning to now.
`;

/** The log as it is read, and the trail of calls in it. */
export function trail(cortex: Command, command: Make, json: With): void {
  command(cortex, 'events', 'print what happened: commits and tool calls')
    .option('-f, --follow', 'go on with what happens from now on')
    .option(
      '--subject <pattern>',
      'only these subjects, for example cortex.evt.remote-ops.> or cortex.call.*.remote_bash',
    )
    .option('--since <when>', 'ISO time, or how long ago: 10m, 2h')
    .option('--last <n>', 'only the last n of what is there')
    .option('--json', 'one JSON object per line')
    .addHelpText('after', EVENT_STREAMS)
    .action(async (flags) => (await import('../commands/events.js')).events(flags));

  const group = cortex.command('audit').description('the trail of every request: is it whole, and how long is it kept');
  json(
    command(group, 'verify', 'name the first record that was changed, removed or put in; exit code 1 if there is one'),
  )
    .option('--anchors <file>', 'lines of the trail as a log collector kept them; its anchors count too')
    .option('--key <key...>', 'public keys of before that signed anchors, 32 bytes in base64url')
    .option('--secrets <file>', 'of servers elsewhere: passwords from this file of `cortex secrets`, with --key')
    .action(async (flags) => (await import('../commands/audit.js')).verify(flags));
  json(command(group, 'purge', 'let go what is older than CORTEX_AUDIT_RETENTION_DAYS')).action(async (flags) =>
    (await import('../commands/audit.js')).purge(flags),
  );
}
