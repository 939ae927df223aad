import { notFound } from '@cortex/contracts';
import { AGENT_ROLES, type AgentRole } from '@cortex/contracts/memory';
import type { ToolContext } from '@cortex/service-kit';
import { z } from 'zod';

/** In whose name a call acts. */
export interface Actor {
  /** An agent's id, or a person's `per_` id. */
  id: string;
  /** Null for a person that acts in no role: what is granted to roles does not bind it. */
  role: AgentRole | null;
}

/** The arguments that name oneself; a person may act in a role, an agent's own always wins. */
export const actorArguments = {
  agent_id: z.string().describe('Your own id; filled in for agents').optional(),
  agent_role: z
    .string()
    .transform((role, issues) => {
      const known = AGENT_ROLES.find((one) => one === role.toLowerCase());
      if (known) return known;
      issues.addIssue({ code: 'custom', message: `is no role; use one of ${AGENT_ROLES.join(', ')}`, input: role });
      return z.NEVER;
    })
    .describe(`The role in which a person acts, one of ${AGENT_ROLES.join(', ')}; an agent has its own`)
    .optional(),
};

/** Errors: `not_found` (agent_id), when a person speaks for an agent that the workspace does not have. */
export function actorOf(
  args: { agent_id?: string | undefined; agent_role?: AgentRole | undefined },
  { caller, scope }: Pick<ToolContext, 'caller' | 'scope'>,
): Actor {
  if (caller.type !== 'user') {
    const role = AGENT_ROLES.find((one) => caller.roles.includes(one)) ?? 'general';
    return { id: scope.agent_id ?? caller.id, role };
  }
  if (args.agent_id !== undefined && args.agent_id !== caller.id) {
    throw notFound('agent_id', 'names no agent of this workspace', 'leave it out to act in your own name');
  }
  return { id: caller.id, role: args.agent_role ?? null };
}
