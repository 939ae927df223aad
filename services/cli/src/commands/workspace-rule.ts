import type { GuardConstraint, GuardRule } from '@cortex/contracts/gating';
import { withAdmin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson } from '../output.js';
import { parseDuration } from '../token.js';
import { loadWorkspace } from '../workspaces.js';
import { checkedId, rulesTable } from './workspace.js';

interface Flags {
  home?: string;
  json?: boolean;
}

export interface RuleFlags extends Flags {
  class?: string;
  command?: string;
  decision: GuardRule['decision'];
  enforcement?: GuardRule['enforcement'];
  agent?: string;
  space?: string;
  tools?: string[];
  paths?: string[];
  refs?: string[];
  hosts?: string[];
  commands?: string[];
  maxCount?: string;
  maxCents?: string;
  expires?: string;
  id?: string;
}

export async function ruleList(given: string, flags: Flags): Promise<void> {
  const workspace_id = checkedId(given);
  const { rules } = await withAdmin(homeOf(flags.home), (admin) => loadWorkspace(admin, workspace_id));
  if (flags.json) return printJson({ rules });
  if (rules.length === 0) return print(`${workspace_id} has no rule: the built-in decisions hold`);
  print(rulesTable(rules));
}

export async function ruleSet(given: string, flags: RuleFlags): Promise<void> {
  const workspace_id = checkedId(given);
  const rule = ruleOf(flags);
  const set = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ rule: GuardRule }>('cortex.cmd.team.set_guard_rule', { workspace_id, rule }),
  );
  if (flags.json) printJson(set.rule);
  else print(rulesTable([set.rule]));
}

export async function ruleRemove(given: string, rule_id: string, flags: Flags): Promise<void> {
  const workspace_id = checkedId(given);
  await withAdmin(homeOf(flags.home), async (admin) => {
    const { rules } = await loadWorkspace(admin, workspace_id);
    if (!rules.some(({ id }) => id === rule_id))
      throw new CliError(`${workspace_id} has no rule ${rule_id}; see cortex workspace rule list ${workspace_id}`);
    await admin.ask('cortex.cmd.team.remove_guard_rule', { workspace_id, rule_id });
  });
  if (flags.json) printJson({ workspace_id, rule_id, removed: true });
  else print(`${rule_id} is removed`);
}

function ruleOf(flags: RuleFlags): Record<string, unknown> {
  if ((flags.class === undefined) === (flags.command === undefined))
    throw new CliError('a rule is about --class or --command, and about one of them; give one', EXIT.usage);
  if (flags.agent !== undefined && flags.space !== undefined)
    throw new CliError('--agent and --space are two places; give one, or none for the whole workspace', EXIT.usage);
  const constraint = constraintOf(flags);
  const scope_id = flags.agent ?? flags.space;
  return {
    scope_type: flags.agent !== undefined ? 'agent' : flags.space !== undefined ? 'space' : 'workspace',
    decision: flags.decision,
    ...(scope_id !== undefined && { scope_id }),
    ...(flags.id !== undefined && { id: flags.id }),
    ...(flags.class !== undefined && { action_class: flags.class }),
    ...(flags.command !== undefined && { command_prefix: flags.command }),
    ...(flags.enforcement !== undefined && { enforcement: flags.enforcement }),
    ...(constraint !== undefined && { constraint }),
    ...(flags.expires !== undefined && { expires_at: inTime(flags.expires) }),
  };
}

function constraintOf(flags: RuleFlags): GuardConstraint | undefined {
  const { tools, paths, refs, hosts, commands, maxCount, maxCents } = flags;
  const constraint: GuardConstraint = {
    ...(tools && { tools }),
    ...(paths && { paths }),
    ...(refs && { refs }),
    ...(hosts && { hosts }),
    ...(commands && { commands }),
    ...(maxCount !== undefined && { max_count: whole('--max-count', maxCount) }),
    ...(maxCents !== undefined && { max_cents: whole('--max-cents', maxCents) }),
  };
  return Object.keys(constraint).length === 0 ? undefined : constraint;
}

function whole(flag: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CliError(`${flag} is no whole number: ${JSON.stringify(text)}`, EXIT.usage);
}

const inTime = (duration: string): string =>
  new Date(Date.now() + parseDuration('--expires', duration) * 1_000).toISOString();
