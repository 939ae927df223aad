import type { ApprovalMode, Autonomy, GuardRule } from '@cortex/contracts/gating';
import { TOKEN_PATTERN } from '@cortex/contracts/ids';
import { showControls } from '@cortex/contracts/text';
import type { WorkspaceRole } from '@cortex/contracts/workspace';
import { withAdmin, type Admin } from '../admin.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { print, printJson, table } from '../output.js';
import { personOf, type PersonFlags } from '../people.js';
import { knownWorkspace, loadWorkspace } from '../workspaces.js';

interface Flags {
  home?: string;
  json?: boolean;
}

interface Listed {
  id: string;
  name: string;
  created_at: string;
  members: number;
}

export async function workspaceList(flags: Flags): Promise<void> {
  const { workspaces } = await withAdmin(homeOf(flags.home), ({ ask }) =>
    ask<{ workspaces: Listed[] }>('cortex.query.team.workspaces', {}),
  );
  if (flags.json) return printJson({ workspaces });
  if (workspaces.length === 0) return print('no workspace yet; make one with: cortex workspace create <id>');
  const rows = workspaces.map(({ id, name, members, created_at }) => [
    id,
    showControls(name),
    String(members),
    created_at.slice(0, 10),
  ]);
  print(table([['workspace', 'name', 'members', 'since'], ...rows]));
}

export interface CreateFlags extends Flags, Pick<PersonFlags, 'issuer'> {
  name?: string;
  /** A subject; false: nobody, true or missing: the owner of the home. */
  admin?: string | boolean;
}

/** Makes it with its first admin. One that is there already stays as it is, but for a name that is given. */
export async function workspaceCreate(given: string, flags: CreateFlags): Promise<void> {
  const workspace_id = checkedId(given);
  await withAdmin(homeOf(flags.home), async (admin) => {
    const before = (await knownWorkspace(admin, workspace_id))?.name;
    const name = flags.name ?? before ?? workspace_id;
    // Known before anything is made, so that a wrong subject leaves nothing behind.
    const first = flags.admin === false || before !== undefined ? null : await firstAdmin(admin, flags);
    await admin.ask('cortex.cmd.team.upsert_workspace', { workspace_id, name });
    if (first !== null)
      await admin.ask('cortex.cmd.team.set_member', { workspace_id, principal_id: first, role: 'admin' });
    if (flags.json) return printJson({ id: workspace_id, name, created: before === undefined, admin: first });
    if (before !== undefined)
      return print(
        before === name ? `${workspace_id} is there already` : `${workspace_id} is called ${showControls(name)} now`,
      );
    print(`${workspace_id} is made${first === null ? ', without a member' : ` with ${first} as admin`}`);
    print(`let others in with: cortex workspace member ${workspace_id} <sub> --role member`);
  });
}

const firstAdmin = (admin: Admin, { admin: sub, issuer }: CreateFlags): Promise<string> =>
  personOf(admin, { ...(typeof sub === 'string' && { sub }), ...(issuer !== undefined && { issuer }) });

export interface MemberFlags extends Flags, Pick<PersonFlags, 'issuer'> {
  role: WorkspaceRole | 'none';
}

export async function workspaceMember(given: string, sub: string, flags: MemberFlags): Promise<void> {
  const workspace_id = checkedId(given);
  const { role, issuer } = flags;
  await withAdmin(homeOf(flags.home), async (admin) => {
    await loadWorkspace(admin, workspace_id); // before somebody is registered for a name that is wrong
    const principal_id = await personOf(admin, { sub, ...(issuer !== undefined && { issuer }) });
    const args = { workspace_id, principal_id, role: role === 'none' ? null : role };
    await admin.ask('cortex.cmd.team.set_member', args);
    if (flags.json) return printJson({ ...args, sub });
    const who = `${showControls(sub)} (${principal_id})`;
    print(role === 'none' ? `${who} is out of ${workspace_id}` : `${who} is ${role} of ${workspace_id}`);
  });
}

export async function workspaceShow(given: string, flags: Flags): Promise<void> {
  const workspace_id = checkedId(given);
  const workspace = await withAdmin(homeOf(flags.home), (admin) => loadWorkspace(admin, workspace_id));
  if (flags.json) return printJson(workspace);
  const { id, name, members, approval_mode, rules, dials } = workspace;
  print(`${id}  ${showControls(name)}\napproval mode  ${approval_mode ?? 'always-ask (nobody set one)'}\n`);
  print(table([['member', 'role'], ...members.map((member) => [member.principal_id, member.role])]));
  if (rules.length > 0) print(`\n${rulesTable(rules)}`);
  if (dials.length > 0)
    print(
      `\n${table([['agent', 'space', 'autonomy'], ...dials.map((d) => [d.agent_id, d.space_id ?? 'every', d.level])])}`,
    );
}

export async function workspaceMode(given: string, mode: ApprovalMode, flags: Flags): Promise<void> {
  const workspace_id = checkedId(given);
  const args = { workspace_id, mode };
  await withAdmin(homeOf(flags.home), ({ ask }) => ask('cortex.cmd.team.set_approval_mode', args));
  if (flags.json) printJson(args);
  else print(`the approval mode of ${workspace_id} is ${mode}`);
}

export async function workspaceAutonomy(
  given: string,
  agent_id: string,
  level: Autonomy,
  flags: Flags & { space?: string },
): Promise<void> {
  const args = { workspace_id: checkedId(given), agent_id, space_id: flags.space ?? null, level };
  await withAdmin(homeOf(flags.home), ({ ask }) => ask('cortex.cmd.team.set_autonomy', args));
  if (flags.json) printJson(args);
  else print(`the dial of ${agent_id} in ${flags.space ?? args.workspace_id} is ${level}`);
}

/** What a rule is about, where it holds and what it says, one line each. */
export function rulesTable(rules: readonly GuardRule[]): string {
  const rows = rules.map((rule) => [
    rule.id,
    rule.action_class ?? `"${rule.command_prefix}"`,
    rule.scope_type === 'workspace' ? 'workspace' : `${rule.scope_type} ${rule.scope_id}`,
    rule.decision === 'deny' && rule.enforcement !== 'hard' ? `deny (${rule.enforcement})` : rule.decision,
    rule.constraint === undefined ? '-' : showControls(JSON.stringify(rule.constraint)),
    rule.expires_at ?? '-',
  ]);
  return table([['rule', 'about', 'where', 'decision', 'only for', 'until'], ...rows]);
}

export function checkedId(id: string): string {
  if (TOKEN_PATTERN.test(id) && id !== '_') return id;
  throw new CliError(
    `${JSON.stringify(id)} is no id of a workspace; give one of 1 to 64 of A-Z a-z 0-9 _ - :`,
    EXIT.usage,
  );
}
