import { MODES } from '@cortex/contracts/gating';
import { Option, type Command } from 'commander';
import { elsewhere, type Make, type With } from './make.js';

const STDIO_VARIABLES = `
Without --running and --url: starts a gateway with backends, tickets and audit, which ends with it. Its data is in stdio/ of
the home; CORTEX_BACKENDS and the other variables of the services are passed on.
Variables: BRIDGE_GATEWAY_PORT (3213), BRIDGE_SCOPES (none: only tools that need no scope), BRIDGE_URL, BRIDGE_TOKEN.
`;

/** What speaks to the edge as a client of it does. */
export function clients(cortex: Command, command: Make, json: With): void {
  command(cortex, 'token', 'print a token for this home, alone on stdout')
    .option('--sub <sub>', 'who (default: $CORTEX_OWNER_SUB, else owner)')
    .option('--scopes <list>', 'separated by blanks or commas (default: read, write and devices)')
    .option('--ttl <duration>', '90s, 15m, 12h, 7d', '12h')
    .option('--workspace <id>', 'not of a person, but of an agent session that is opened in this workspace')
    .action(async (flags) => (await import('../commands/token.js')).token(flags));

  json(command(cortex, 'call', 'call a tool and print its text; exit code 1 when it says that it failed'))
    .argument('<tool>')
    .argument('[arguments]', 'JSON object; - reads it from stdin', '{}')
    .option('--token <jwt>', 'instead of one for the owner')
    .option('--timeout <duration>', 'how long to wait', '11m')
    .action(async (tool, args, flags) => (await import('../commands/call.js')).call(tool, args, flags));

  elsewhere(json(command(cortex, 'explain', 'why a caller can or cannot see and call a tool now; nothing is called')))
    .argument('<tool>')
    .option('--token <jwt>', 'of that caller, a refused one too; - reads it from stdin (default: the owner)')
    .option('--session <id>', 'instead of a token: that agent session, as it was started')
    .option('--agent <id>', 'that agent, in its newest open session')
    .option('--person <who>', 'that person, a per_ id or a sub of the issuer, with the scopes of the last token')
    .option(
      '--scopes <list>',
      'as if these were the scopes of the session, the person or the owner; separated by blanks or commas',
    )
    .option('--space <id>', 'as if the session spoke in this conversation')
    .addOption(new Option('--mode <mode>', 'as if the session had this mode').choices(MODES))
    .option('--args <json>', 'with these arguments, a JSON object')
    .action(async (tool, flags) => (await import('../commands/explain.js')).explain(tool, flags));

  command(cortex, 'stdio', 'speak MCP on stdin and stdout, for clients that start a program')
    .option('--running', 'for the Cortex that runs in this home, instead of a gateway of its own')
    .option('--url <url>', 'for a Cortex elsewhere, with $BRIDGE_TOKEN (default: $BRIDGE_URL)')
    .option('--scopes <list>', 'of its tokens, separated by blanks or commas (default: $BRIDGE_SCOPES)')
    .addHelpText('after', STDIO_VARIABLES)
    .action(async (flags) => (await import('../commands/stdio.js')).stdio(flags));
}
