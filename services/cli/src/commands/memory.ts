import type { AgentRole } from '@cortex/contracts/agent';
import type { MemoryPermission } from '@cortex/contracts/memory';
import { withAdmin } from '../admin.js';
import { homeOf } from '../home.js';
import { print, printJson } from '../output.js';
import { loadWorkspace } from '../workspaces.js';
import { checkedId } from './workspace.js';

export interface GrantFlags {
  home?: string;
  json?: boolean;
  role: AgentRole;
  permission: MemoryPermission;
}

interface Grant {
  domain_name: string;
  role: AgentRole;
  permission: MemoryPermission;
}

/** What agents of a role may do with a domain of the memory, in every scope of its name; also before there is one. */
export async function memoryGrant(given: string, domain: string, flags: GrantFlags): Promise<void> {
  const workspace_id = checkedId(given);
  const { role, permission } = flags;
  const grant = await withAdmin(homeOf(flags.home), async (admin) => {
    await loadWorkspace(admin, workspace_id); // a grant in a workspace that is not there would wait for one of that name
    return admin.ask<Grant>('cortex.cmd.memory.set_grant', { workspace_id, domain, role, permission });
  });
  if (flags.json) return printJson({ workspace_id, ...grant });
  print(`${grant.role} has ${grant.permission} on ${grant.domain_name} in ${workspace_id}`);
}
