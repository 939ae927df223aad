import { APPROVAL_MODES, AUTONOMY } from '@cortex/contracts/gating';
import { Argument, Option, type Command } from 'commander';
import type { Make, With } from './make.js';

/** Workspaces, their members, their modes and rules. */
export function workspace(cortex: Command, command: Make, json: With): void {
  const group = cortex.command('workspace').description('workspaces, who belongs to them, and what they ask or refuse');
  const actions = () => import('../commands/workspace.js');
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

function rules(parent: Command, command: Make, json: With): void {
  const group = parent.command('rule').description('what the guard rail of a workspace denies, asks or allows');
  const actions = () => import('../commands/workspace-rule.js');
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
