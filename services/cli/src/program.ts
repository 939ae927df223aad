import { AGENT_ROLES } from '@cortex/contracts/agent';
import { APPROVAL_MODES, AUTONOMY, MODES } from '@cortex/contracts/gating';
import { MEMORY_PERMISSIONS } from '@cortex/contracts/memory';
import { Argument, Command, CommanderError, Option } from 'commander';
import { CliError, EXIT } from './exit.js';
import { backups } from './program/backup.js';
import type { Make, With } from './program/make.js';
import { version } from './version.js';

const EXIT_CODES = `
Exit codes: 0 done; 1 failed (a tool's error, a red test, a service that did not start); 2 wrong usage;
3 the home is not running; 4 it is running already; 5 a port is taken; 6 something is missing on this machine.
`;

const EVENT_STREAMS = `
Both streams (commits and tool-call records) in order of arrival: with --follow from now on, else from the beginning to now.
`;

/** The whole command line. What a command does is loaded when it is called, so that none pays for the others. */
export function program(): Command {
  const cortex = new Command('cortex')
    .description('One MCP endpoint backed by event-sourced services: starts it, watches it, talks to it.')
    .version(version, '-V, --version')
    .addHelpText('after', EXIT_CODES)
    .configureHelp({ showGlobalOptions: true });

  const command = (parent: Command, name: string, description: string): Command =>
    parent
      .command(name)
      .description(description)
      .option('--home <dir>', 'data folder (default: $CORTEX_HOME, else ~/.cortex)');
  const json = (to: Command): Command => to.option('--json', 'answer as JSON');

  json(command(cortex, 'up', 'start NATS, PostgreSQL and all services, and bring back whatever dies'))
    .option('-d, --detach', 'return when everything is ready; end it with: cortex down')
    .option('--each', 'one process per service instead of one for all')
    .option('--port <n>', 'public port; issuer n+1, webhooks n+2, devices n+3, where no variable says otherwise')
    .option('--reset', 'delete all data of the home first (asks)')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', UP_VARIABLES)
    .action(async (flags) => (await import('./commands/up.js')).up(flags));

  json(command(cortex, 'down', 'stop what `up` started, in order')).action(async (flags) =>
    (await import('./commands/down.js')).down(flags),
  );

  json(command(cortex, 'status', 'processes with port, uptime, memory and whether they are ready')).action(
    async (flags) => (await import('./commands/status.js')).status(flags),
  );

  command(cortex, 'logs', 'logs of one process, or of all of them')
    .argument('[service]', 'nats, postgres, services, up, audit-trail, or the name of a service')
    .option('-f, --follow', 'go on as they grow')
    .option('-n, --lines <n>', 'so many lines of each', '50')
    .option('--json', 'the lines as they were written')
    .action(async (service, flags) => (await import('./commands/logs.js')).logs(service, flags));

  json(command(cortex, 'doctor', 'check this machine and this home, and say what to mend')).action(async (flags) =>
    (await import('./commands/doctor.js')).doctor(flags),
  );

  json(command(cortex, 'provision', 'make streams, buckets, consumers, roles and schemas; safe to repeat'))
    .option('--nats-config', 'only print the configuration of nats-server with its users and permissions')
    .option('--secrets <file>', 'passwords from this file of `cortex secrets` instead of the home')
    .option('--replicas <n>', 'copies of each stream: 1, 3 or 5 (default 1)')
    .addHelpText('after', PROVISION_VARIABLES)
    .action(async (flags) => (await import('./commands/provision.js')).provisionCommand(flags));

  cortex
    .command('serve')
    .description('run services in this process and nothing beside them, as a container does')
    .argument('<service...>')
    .action(async (names) => (await import('./commands/serve.js')).serve(names));

  command(cortex, 'secrets', 'make the secrets of an installation, and a folder of them for each of its containers')
    .requiredOption('--out <dir>', 'where the folders are')
    .option('--owner <uid>', 'user that the files are given to')
    .option('--with <dir>', 'secrets of your own: a folder per service, in it a file per variable')
    .action(async (flags) => (await import('./commands/secrets.js')).secrets(flags));

  command(cortex, 'issuer', 'run the development issuer alone, beside services that run elsewhere')
    .option('--host <address>', 'where it listens', '127.0.0.1')
    .option('--keys-under <name>', 'name of this machine by which the services ask for its public keys')
    .action(async (flags) => (await import('./commands/issuer.js')).issuer(flags));

  cortex
    .command('test')
    .description('run format check, lint, type check, conformance and all tests (in a checkout)')
    .argument('[jest...]', 'passed on to jest, for example a path')
    .option('--attack', 'only the tests that attack: those named by a threat')
    .action(async (jest, flags) => (await import('./commands/test.js')).test(jest, flags));

  projections(cortex, command, json);
  backups(cortex, command, json);

  command(cortex, 'token', 'print a token for this home, alone on stdout')
    .option('--sub <sub>', 'who (default: $CORTEX_OWNER_SUB, else owner)')
    .option('--scopes <list>', 'separated by blanks or commas (default: read, write and devices)')
    .option('--ttl <duration>', '90s, 15m, 12h, 7d', '12h')
    .option('--workspace <id>', 'not of a person, but of an agent session that is opened in this workspace')
    .action(async (flags) => (await import('./commands/token.js')).token(flags));

  toolIntegrity(
    json(command(cortex, 'tools', 'list the tools that a token may see'))
      .option('--token <jwt>', 'instead of one for the owner')
      .action(async (flags) => (await import('./commands/call.js')).tools(flags)),
    command,
    json,
  );
  baselines(cortex, command, json);
  gaps(cortex, command, json);

  json(command(cortex, 'call', 'call a tool and print its text; exit code 1 when it says that it failed'))
    .argument('<tool>')
    .argument('[arguments]', 'JSON object; - reads it from stdin', '{}')
    .option('--token <jwt>', 'instead of one for the owner')
    .option('--timeout <duration>', 'how long to wait', '11m')
    .action(async (tool, args, flags) => (await import('./commands/call.js')).call(tool, args, flags));

  json(command(cortex, 'explain', 'why a caller can or cannot see and call a tool now; nothing is called'))
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
    .option('--url <origin>', 'of a Cortex elsewhere, with $CORTEX_ADMIN_SECRET')
    .action(async (tool, flags) => (await import('./commands/explain.js')).explain(tool, flags));

  command(cortex, 'stdio', 'speak MCP on stdin and stdout, for clients that start a program')
    .option('--running', 'for the Cortex that runs in this home, instead of a gateway of its own')
    .option('--url <url>', 'for a Cortex elsewhere, with $BRIDGE_TOKEN (default: $BRIDGE_URL)')
    .option('--scopes <list>', 'of its tokens, separated by blanks or commas (default: $BRIDGE_SCOPES)')
    .addHelpText('after', STDIO_VARIABLES)
    .action(async (flags) => (await import('./commands/stdio.js')).stdio(flags));

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
    .action(async (flags) => (await import('./commands/events.js')).events(flags));

  audit(cortex, command, json);
  workspaces(cortex, command, json);
  memory(cortex, command, json);
  sessions(cortex, command, json);
  devices(cortex, command, json);
  budgets(cortex, command, json);
  cortex.addCommand(signal());
  cortex.addCommand(bench());
  conformance(cortex);
  chaos(cortex);
  return strict(cortex);
}

function projections(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('projections').description('the views that are made of the log');
  json(command(group, 'status', 'where each stands, and how far behind')).action(async (flags) =>
    (await import('./commands/projections.js')).projectionsStatus(flags),
  );
  json(command(group, 'rebuild', 'make a view anew beside the live one, then swap'))
    .argument('[name]', 'for example tool_calls_v1')
    .option('--all', 'every one of them')
    .action(async (name, flags) => (await import('./commands/projections.js')).projectionsRebuild(name, flags));
}

function audit(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('audit').description('the trail of every request: is it whole, and how long is it kept');
  json(
    command(group, 'verify', 'name the first record that was changed, removed or put in; exit code 1 if there is one'),
  )
    .option('--anchors <file>', 'lines of the trail as a log collector kept them; its anchors count too')
    .option('--key <key...>', 'public keys of before that signed anchors, 32 bytes in base64url')
    .option('--secrets <file>', 'of servers elsewhere: passwords from this file of `cortex secrets`, with --key')
    .action(async (flags) => (await import('./commands/audit.js')).verify(flags));
  json(command(group, 'purge', 'let go what is older than CORTEX_AUDIT_RETENTION_DAYS')).action(async (flags) =>
    (await import('./commands/audit.js')).purge(flags),
  );
}

const OF_WHICH = '--url <origin>';
const ELSEWHERE = 'of a Cortex elsewhere; needs $CORTEX_ADMIN_SECRET';

function toolIntegrity(group: Command, command: Make, json: With): void {
  const actions = () => import('./commands/tool-integrity.js');
  const made = (name: string, description: string): Command =>
    json(command(group, name, description)).option(OF_WHICH, ELSEWHERE);
  const TOOL = 'its name as it is listed, or <backend>/<original name>';
  made('pending', 'tools of backends that are held back, and why').action(async (_flags, self: Command) =>
    (await actions()).pending(self.optsWithGlobals()),
  );
  made('diff', 'what waits for an approval, against what is approved')
    .argument('<tool>', TOOL)
    .action(async (tool, _flags, self: Command) => (await actions()).diff(tool, self.optsWithGlobals()));
  made('approve', 'show what waits, and approve exactly that')
    .argument('<tool>', TOOL)
    .option('--digest <digest>', 'only if this is still what waits')
    .action(async (tool, _flags, self: Command) => (await actions()).approve(tool, self.optsWithGlobals()));
  made('history', 'every definition that it had, newest first, and who approved it')
    .argument('<tool>', TOOL)
    .action(async (tool, _flags, self: Command) => (await actions()).history(tool, self.optsWithGlobals()));
  made('rollback', 'approve an earlier definition again, and no other')
    .argument('<tool>', TOOL)
    .argument('<digest>', 'of the history; its first 8 digits are enough')
    .action(async (tool, digest, _flags, self: Command) =>
      (await actions()).rollback(tool, digest, self.optsWithGlobals()),
    );
  made('start-over', 'end all approvals of a backend, and approve what it serves now')
    .argument('<backend>')
    .option('-y, --yes', 'without having seen it')
    .action(async (backend, _flags, self: Command) => (await actions()).startOver(backend, self.optsWithGlobals()));
}

function gaps(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('gaps').description('what callers miss: the tickets of report_missing_capability');
  const actions = () => import('./commands/gaps.js');
  const made = (name: string, description: string): Command =>
    json(command(group, name, description)).option(OF_WHICH, ELSEWHERE);
  made('list', 'newest first')
    .option('--status <status>', 'open, triaged, planned, resolved, wont_fix or duplicate')
    .option('--severity <severity>', 'blocking, inconvenient or nice_to_have')
    .option('--app <id>', 'about this backend; cortex for Cortex itself')
    .option('--limit <n>', 'at most so many (default 50)')
    .option('--cursor <cursor>', 'those behind a list that had more')
    .action(async (flags) => (await actions()).list(flags));
  made('show', 'one of them, whole')
    .argument('<ticket>')
    .action(async (ticket, flags) => (await actions()).show(ticket, flags));
  made('triage', 'say what becomes of it; whoever reported it sees that')
    .argument('<ticket>')
    .option('--status <status>', 'triaged, planned, resolved, wont_fix or duplicate')
    .option('--note <text>', 'what you think of it; an empty text takes it away, as of the next two')
    .option('--resolution <text>', 'how it ended')
    .option('--pr <url>', 'the change that ended it')
    .option('--duplicate-of <ticket>', 'the ticket that says the same')
    .action(async (ticket, flags) => (await actions()).triage(ticket, flags));
}

function baselines(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('baseline').description('approved definitions as a file that is signed elsewhere');
  const actions = () => import('./commands/baseline.js');
  group
    .command('keygen')
    .description('make a pair of keys, in two files')
    .option('--out <path>', 'how their names begin', 'baseline')
    .action(async (flags) => (await actions()).keygen(flags));
  command(group, 'proposal', 'print what backends declare now, to be reviewed and signed')
    .option(OF_WHICH, ELSEWHERE)
    .action(async (flags) => (await actions()).proposal(flags));
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
  json(command(group, 'upload', 'put a signed baseline in force, in place of all that was approved'))
    .argument('<file>')
    .option(OF_WHICH, ELSEWHERE)
    .action(async (file, flags) => (await actions()).upload(file, flags));
}

function sessions(cortex: Command, command: Make, json: With): void {
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
    .action(async (flags) => (await import('./commands/session.js')).sessionOpen(flags));
  json(command(group, 'list', 'sessions, newest first'))
    .option('--workspace <id>', 'only of this workspace')
    .addOption(new Option('--status <status>', 'which').choices(['open', 'ended', 'all']).default('open'))
    .option('--limit <n>', 'at most so many, 1 to 500', '50')
    .option('--cursor <cursor>', 'the page behind another one')
    .action(async (flags) => (await import('./commands/session.js')).sessionList(flags));
  json(command(group, 'show', 'one session and its inbox, newest message last'))
    .argument('<session>')
    .option('--limit <n>', 'at most so many messages, 1 to 500', '50')
    .option('--cursor <cursor>', 'older messages')
    .action(async (id, flags) => (await import('./commands/session.js')).sessionShow(id, flags));
  ttl(json(command(group, 'token', 'print a fresh token of an open session, alone on stdout')))
    .argument('<session>')
    .action(async (id, flags) => (await import('./commands/session.js')).sessionToken(id, flags));
  json(command(group, 'end', 'end a session: its tokens are refused from then on; safe to repeat'))
    .argument('<session>')
    .option('--reason <text>', 'what is recorded', 'closed')
    .action(async (id, flags) => (await import('./commands/session.js')).sessionEnd(id, flags));
}

function workspaces(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('workspace').description('workspaces, who belongs to them, and what they ask or refuse');
  const actions = () => import('./commands/workspace.js');
  const issuer = (to: Command): Command =>
    to.option('--issuer <url>', 'of that subject (default: the issuer of this home)');
  json(command(group, 'list', 'all workspaces')).action(async (flags) => (await actions()).workspaceList(flags));
  issuer(json(command(group, 'create', 'make a workspace; safe to repeat')))
    .argument('<workspace>', 'its id: 1 to 64 of A-Z a-z 0-9 _ - :')
    .option('--name <name>', 'what people call it; gives one that is there another name')
    .option('--admin <sub>', 'its first admin (default: $CORTEX_OWNER_SUB, else owner)')
    .option('--no-admin', 'without a member')
    .action(async (id, flags) => (await actions()).workspaceCreate(id, flags));
  json(command(group, 'show', 'its members, approval mode, rules and dials'))
    .argument('<workspace>')
    .action(async (id, flags) => (await actions()).workspaceShow(id, flags));
  issuer(json(command(group, 'member', 'let somebody in, change the role, or take somebody out')))
    .argument('<workspace>')
    .argument('<sub>', 'subject at the issuer; need not have logged in yet')
    .addOption(new Option('--role <role>', 'none takes out').choices(['admin', 'member', 'none']).makeOptionMandatory())
    .action(async (id, sub, flags) => (await actions()).workspaceMember(id, sub, flags));
  json(command(group, 'mode', 'whether tools that ask before they run do so'))
    .argument('<workspace>')
    .addArgument(new Argument('<mode>', 'always-ask, write or yolo').choices(APPROVAL_MODES))
    .action(async (id, mode, flags) => (await actions()).workspaceMode(id, mode, flags));
  json(command(group, 'autonomy', 'the dial of an agent'))
    .argument('<workspace>')
    .argument('<agent>')
    .addArgument(new Argument('<level>', 'proposeOnly, actWithApproval or actFreely').choices(AUTONOMY))
    .option('--space <id>', 'in this space alone')
    .action(async (id, agent, level, flags) => (await actions()).workspaceAutonomy(id, agent, level, flags));
  rules(group, command, json);
}

function rules(workspace: Command, command: Make, json: With): void {
  const group = workspace.command('rule').description('what the guard rail of a workspace denies, asks or allows');
  const actions = () => import('./commands/workspace-rule.js');
  json(command(group, 'list', 'its rules'))
    .argument('<workspace>')
    .action(async (id, flags) => (await actions()).ruleList(id, flags));
  json(command(group, 'set', 'set a rule, about a class of actions or about commands'))
    .argument('<workspace>')
    .option('--class <class>', 'about actions of this class, such as vendorSyncWrite or fileDelete')
    .option('--command <words>', 'about commands that begin like this')
    .addOption(new Option('--decision <what>').choices(['deny', 'prompt', 'allow']).makeOptionMandatory())
    .addOption(new Option('--enforcement <how>', 'of a deny (default: hard)').choices(['advisory', 'soft', 'hard']))
    .option('--agent <id>', 'for this agent, instead of the whole workspace')
    .option('--space <id>', 'in this space, instead of the whole workspace')
    .option('--tools <names...>', 'only for these tools')
    .option('--paths <globs...>', 'only for paths like these; ! in front takes out again')
    .option('--refs <globs...>', 'only for git refs like these')
    .option('--hosts <names...>', 'only for these hosts; *. in front takes all below')
    .option('--commands <words...>', 'only for commands that begin like this')
    .option('--max-count <n>', 'only up to so many')
    .option('--max-cents <n>', 'only up to this price')
    .option('--expires <duration>', 'how long it holds: 90s, 15m, 8h, 7d')
    .option('--id <id>', 'replace the rule of this id')
    .action(async (id, flags) => (await actions()).ruleSet(id, flags));
  json(command(group, 'remove', 'take a rule away'))
    .argument('<workspace>')
    .argument('<rule>', 'its id, as the list shows it')
    .action(async (id, rule, flags) => (await actions()).ruleRemove(id, rule, flags));
}

function memory(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('memory').description('what agents may do with the facts of a workspace');
  json(command(group, 'grant', 'what agents of a role may do with a domain'))
    .argument('<workspace>')
    .argument('<domain>', 'its name, such as auth-flow: in every repository, and before there is one too')
    .addOption(new Option('--role <role>', 'of the agents').choices(AGENT_ROLES).makeOptionMandatory())
    .addOption(new Option('--permission <what>').choices(MEMORY_PERMISSIONS).makeOptionMandatory())
    .action(async (id, domain, flags) => (await import('./commands/memory.js')).memoryGrant(id, domain, flags));
}

function devices(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('device').description('machines that agents may use');
  command(group, 'run', 'join this machine and keep it joined')
    .option('--name <name>', 'name of the machine (default: the host name)')
    .option('--server <url>', 'ws:// or wss:// address of a Cortex elsewhere; needs $CORTEX_CLIENT_TOKEN')
    .option('--join <code>', 'join code of `device join`, for the first time at that server (or $CORTEX_JOIN_CODE)')
    .addOption(new Option('--allow-plaintext', 'let ws:// leave this machine: inside a VPN or tunnel'))
    .action(async (flags) => (await import('./commands/device.js')).deviceRun(flags));
  json(command(group, 'join', 'add a machine and print a code with which it may join once, within 15 minutes'))
    .argument('<name>')
    .action(async (name, flags) => (await import('./commands/device.js')).deviceJoin(name, flags));
  json(command(group, 'revoke', 'forget the key of a machine and close its connection'))
    .argument('<name>')
    .action(async (name, flags) => (await import('./commands/device.js')).deviceRevoke(name, flags));
  json(command(group, 'list', 'machines, and whether they are connected')).action(async (flags) =>
    (await import('./commands/device.js')).deviceList(flags),
  );
}

function budgets(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('budget').description('limits of spending; they warn, nothing is stopped by them');
  json(command(group, 'show', 'the limits in force')).action(async (flags) =>
    (await import('./commands/budget.js')).budgetShow(flags),
  );
  json(command(group, 'set', 'set both limits: of one project, or of all together'))
    .requiredOption('--daily <usd>', 'US dollars a day')
    .requiredOption('--monthly <usd>', 'US dollars a month')
    .option('--project <name>', 'of this project alone')
    .action(async (flags) => (await import('./commands/budget.js')).budgetSet(flags));
  json(command(group, 'clear', 'let a project go by the limits of all projects again'))
    .argument('<project>')
    .action(async (project, flags) => (await import('./commands/budget.js')).budgetClear(project, flags));
}

/** The same as the program `cortex-signal`, which reads its own words: a message may begin with `--`. */
function signal(): Command {
  return new Command('signal')
    .description('tell a waitpoint that a job has ended (as $CORTEX_HOME/bin/cortex-signal does)')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[flags...]', 'see cortex signal --help')
    .action(async (_flags, _options, self: Command) => (await import('./commands/signal.js')).signalCommand(self.args));
}

/** Not a program of an installation: it breaks one that it makes. */
function chaos(cortex: Command): void {
  cortex
    .command('chaos')
    .description('break two replicas of everything in every way while callers call, and check that nothing was lost')
    .option('--short', 'the faults that continuous integration takes, held for less long')
    .option('--each', 'a process for each service')
    .option('--only <fault>', 'faults whose name holds this')
    .option('--list', 'the names of the faults')
    .option('--logs <folder>', 'where the logs of all processes are left')
    .option('--json', 'for a program')
    .action(async (flags) => (await import('./chaos/chaos.js')).chaos(flags));
}

function conformance(cortex: Command): void {
  cortex
    .command('conformance')
    .description('run the official MCP conformance suite through a gateway of its own (in a checkout)')
    .option('--keep <folder>', 'leave the results of the suite there')
    .option('--record', 'write down how many checks succeed, which later runs must reach')
    .action(async (flags) => (await import('./conformance/conformance.js')).conformance(flags));
}

/** The bench has its own command line, which only a run of it has to load. */
function bench(): Command {
  return new Command('bench')
    .description('measure the edge beside bare servers on this machine')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[options...]', 'see cortex bench --help')
    .action(async (_options, _flags, self: Command) => {
      const { benchCommand } = await import('./bench/bench.js');
      await strict(benchCommand().name('cortex bench')).parseAsync(self.args, { from: 'user' });
    });
}

/** A wrong command line has its own exit code. */
function strict(root: Command): Command {
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

/** Commander has told the problem already. */
export class UsageError extends CliError {
  constructor() {
    super('', EXIT.usage);
  }
}

const UP_VARIABLES = `
Variables: PORT (9030), WEBHOOK_PORT (3001), CORTEX_CLIENT_PORT (3002), CORTEX_ISSUER_PORT (PORT+1), CORTEX_HOME;
CORTEX_NATS_URL and CORTEX_DATABASE_URL use servers of yours instead of embedded ones (the second with the credentials of
somebody who may make roles); CORTEX_NATS_SERVER names the program; OAUTH_ISSUER uses your authorization server.
Variables of the services (OTEL_*, OAUTH_*, CORTEX_*) are passed on.
`;

const STDIO_VARIABLES = `
Without --running and --url: starts a gateway with backends, tickets and audit, which ends with it. Its data is in stdio/ of
the home; CORTEX_BACKENDS and the other variables of the services are passed on.
Variables: BRIDGE_GATEWAY_PORT (3213), BRIDGE_SCOPES (none: only tools that need no scope), BRIDGE_URL, BRIDGE_TOKEN.
`;

const PROVISION_VARIABLES = `
Variables: CORTEX_NATS_URL, CORTEX_DATABASE_URL (with credentials); without them, the embedded servers of a running home.
Passwords of bus users and roles are those of the home's secrets, which are made when they are missing. Credentials of the
database that the variable does not have are those of the secrets too.
`;
