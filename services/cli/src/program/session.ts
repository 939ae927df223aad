import { Option, type Command } from 'commander';
import type { Make, With } from './make.js';

/** Agent sessions, their tokens and inboxes. */
export function session(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('session').description('agent sessions: their tokens, and what was delivered to them');
  const ttl = (to: Command): Command => to.option('--ttl <duration>', 'how long the token lives, at most 12h', '1h');
  ttl(json(command(group, 'open', "start a session for a person's own client, and print its first token")))
    .option('--workspace <id>', 'where it works', 'default')
    .option('--no-workspace', 'in none: without the tools of a workspace')
    .option('--project <name>', 'what its costs and executions count for', 'general')
    .option(
      '--channel <channel>',
      'where its messages go: web:, slack: or feishu: and an id (default: web:<session id>)',
    )
    .option('--sub <sub>', 'whose it is (default: $CORTEX_OWNER_SUB, else owner)')
    .option('--issuer <url>', 'of that subject (default: the issuer of this home)')
    .option('--scopes <list>', 'at most these (default: read, write and devices)')
    .action(async (flags) => (await import('../commands/session.js')).sessionOpen(flags));
  json(command(group, 'list', 'sessions, newest first'))
    .option('--workspace <id>', 'only of this workspace')
    .addOption(new Option('--status <status>', 'which').choices(['open', 'ended', 'all']).default('open'))
    .option('--limit <n>', 'at most so many, 1 to 500', '50')
    .option('--cursor <cursor>', 'the page behind another one')
    .action(async (flags) => (await import('../commands/session.js')).sessionList(flags));
  json(command(group, 'show', 'one session and its inbox, newest message last'))
    .argument('<session>')
    .option('--limit <n>', 'at most so many messages, 1 to 500', '50')
    .option('--cursor <cursor>', 'older messages')
    .action(async (id, flags) => (await import('../commands/session.js')).sessionShow(id, flags));
  ttl(json(command(group, 'token', 'print a fresh token of an open session, alone on stdout')))
    .argument('<session>')
    .action(async (id, flags) => (await import('../commands/session.js')).sessionToken(id, flags));
  json(command(group, 'end', 'end a session: its tokens are refused from then on; safe to repeat'))
    .argument('<session>')
    .option('--reason <text>', 'what is recorded', 'closed')
    .action(async (id, flags) => (await import('../commands/session.js')).sessionEnd(id, flags));
}
