import { Id, notFound } from '@cortex/contracts';
import { AGENT_ROLES, type AgentRole } from '@cortex/contracts/agent';
import type { ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import type { Kysely } from 'kysely';
import type { MemoryDb } from './projections/tables.js';

/** In whose name a call acts. */
export interface Actor {
  /** An agent's id, or a person's `per_` id. */
  id: string;
  /** Null for a person that acts in no role: what is granted to roles does not bind it. */
  role: AgentRole | null;
}

/** The arguments that name oneself: an agent is who its token says, whatever they hold. */
export const actorArguments = {
  agent_id: Id.describe('The agent in whose name a person acts; filled in for agents').optional(),
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

export interface ActorArguments {
  agent_id?: string | undefined;
  agent_role?: AgentRole | undefined;
}

/** Errors: `not_found` (agent_id), when a person speaks for an agent that the workspace does not have. */
export async function actorOf(
  { caller, scope }: Pick<ToolContext, 'caller' | 'scope'>,
  db: Kysely<MemoryDb>,
  { agent_id, agent_role }: ActorArguments = {},
): Promise<Actor> {
  if (caller.type !== 'user') {
    const id = scope.agent_id ?? caller.id;
    return { id, role: (await roleOf(db, id)) ?? 'general' };
  }
  if (agent_id === undefined) return { id: caller.id, role: agent_role ?? null };
  const role = await roleOf(db, agent_id);
  if (role === undefined) {
    throw notFound('agent_id', 'names no agent of this workspace', 'leave it out to act in your own name');
  }
  return { id: agent_id, role: agent_role ?? role };
}

async function roleOf(db: Kysely<MemoryDb>, agent_id: string): Promise<AgentRole | undefined> {
  const row = await db.selectFrom('agents').select('role').where('agent_id', '=', agent_id).executeTakeFirst();
  return row?.role;
}
