import type { Admin } from '../admin.js';
import { knownWorkspace, type Workspace } from '../workspaces.js';

export const DEFAULT_WORKSPACE = 'default';
const RULE = 'default-vendor-sync-write';

/** Somebody at an issuer. */
export interface Owner {
  issuer: string;
  sub: string;
}

/**
 * The workspace that an embedded installation begins with: its owner is an admin, and nothing asks, since its tickets are local and its only
 * person is the one who calls (architecture, ruling 15). Safe to repeat: what somebody has changed since stays, but the owner, who may have
 * another subject or issuer by now, is let in. `owner` is null where nobody was named.
 */
export async function ensureDefaultWorkspace(ask: Admin['ask'], owner: Owner | null): Promise<void> {
  const workspace_id = DEFAULT_WORKSPACE;
  const { members, approval_mode } = (await knownWorkspace({ ask }, workspace_id)) ?? (await made(ask));
  if (owner !== null) {
    const { person_id } = await ask<{ person_id: string }>('cortex.cmd.mcp-edge.register_person', { ...owner });
    if (!members.some(({ principal_id }) => principal_id === person_id))
      await ask('cortex.cmd.team.set_member', { workspace_id, principal_id: person_id, role: 'admin' });
  }
  // The mode comes last: once one is set the rest was done, and a rule that an admin took away stays away.
  if (approval_mode !== null) return;
  const rule = { id: RULE, action_class: 'vendorSyncWrite', decision: 'allow' };
  await ask('cortex.cmd.team.set_guard_rule', { workspace_id, rule });
  await ask('cortex.cmd.team.set_approval_mode', { workspace_id, mode: 'write' });
}

async function made(ask: Admin['ask']): Promise<Pick<Workspace, 'members' | 'approval_mode'>> {
  await ask('cortex.cmd.team.upsert_workspace', { workspace_id: DEFAULT_WORKSPACE, name: 'Default' });
  return { members: [], approval_mode: null };
}
