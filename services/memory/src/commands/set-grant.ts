import { WorkspaceId } from '@cortex/contracts';
import { AGENT_ROLES } from '@cortex/contracts/agent';
import { MEMORY_PERMISSIONS } from '@cortex/contracts/memory';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { domain as domainDecider } from '../domain/domain.decider.js';
import { domainSlug } from '../domain/slug.js';

/**
 * Says what a role may do with the domains of a name, in every scope; also before there is one. Setting what is set already
 * changes nothing. Errors: `invalid_argument`.
 */
export const setGrant = defineCommand({
  name: 'set_grant',
  input: z.object({
    workspace_id: WorkspaceId,
    domain: z.string().describe('Name of the domain, without a scope'),
    role: z.enum(AGENT_ROLES),
    permission: z.enum(MEMORY_PERMISSIONS),
  }),
  async handle({ workspace_id, domain, role, permission }, ctx) {
    const { domain_name } = domainSlug(domain, null);
    const command = { type: 'GrantAccess' as const, domain_name, role, permission };
    await ctx.execute(domainDecider, domain_name, command, { workspace: workspace_id });
    return { domain_name, role, permission };
  },
});
