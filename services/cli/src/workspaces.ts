import { isCortexError } from '@cortex/contracts/errors';
import type { ApprovalMode, Autonomy, GuardRule } from '@cortex/contracts/gating';
import type { WorkspaceRole } from '@cortex/contracts/workspace';
import type { Admin } from './admin.js';

/** One workspace as the log has it now. */
export interface Workspace {
  id: string;
  name: string;
  members: { principal_id: string; role: WorkspaceRole }[];
  /** Null: none was set, which counts as `always-ask`. */
  approval_mode: ApprovalMode | null;
  rules: GuardRule[];
  dials: { agent_id: string; space_id: string | null; level: Autonomy }[];
}

/** Errors: `not_found`. */
export const loadWorkspace = ({ ask }: Pick<Admin, 'ask'>, workspace_id: string): Promise<Workspace> =>
  ask<Workspace>('cortex.query.team.workspace', { workspace_id });

/** Null where there is none of this id. */
export async function knownWorkspace(admin: Pick<Admin, 'ask'>, workspace_id: string): Promise<Workspace | null> {
  try {
    return await loadWorkspace(admin, workspace_id);
  } catch (error) {
    if (isCortexError(error) && error.kind === 'not_found') return null;
    throw error;
  }
}
