import { permissionDenied } from '@cortex/contracts';
import { AGENT_ROLES, type AgentRole } from '@cortex/contracts/agent';
import type { DomainEvent, MemoryPermission } from '@cortex/contracts/memory';
import { defineDecider } from '@cortex/eventstore';
import { parseDomain } from './slug.js';
import { SYSTEM_DOMAINS } from './system-domains.js';

export type DomainCommand =
  /** Makes the domain if it is not there, and checks that the role may write to it; `role` null: a person. */
  | { type: 'WriteToDomain'; domain: string; label: string | null; description: string | null; role: AgentRole | null }
  | { type: 'GrantAccess'; domain_name: string; role: AgentRole; permission: MemoryPermission };

interface State {
  /** Full slugs, in every scope. */
  domains: readonly string[];
  grants: Readonly<Partial<Record<AgentRole, MemoryPermission>>>;
}

/** Without a grant a role may read. */
export const NO_GRANT: MemoryPermission = 'read';

/** The domains of one bare name and who may use them. */
export const domain = defineDecider<DomainCommand, DomainEvent, State>({
  subject: 'memory.domain',
  initial: { domains: [], grants: {} },
  decide(command, state) {
    switch (command.type) {
      case 'WriteToDomain': {
        const { domain: slug, role } = command;
        const { domain_name } = parseDomain(slug);
        const isNew = !state.domains.includes(slug);
        // Whoever makes a domain may write to it, unless an administrator has said otherwise before.
        const permission = role === null ? 'write' : (state.grants[role] ?? (isNew ? 'write' : NO_GRANT));
        if (permission !== 'write') {
          throw permissionDenied('domain', `${domain_name} may not be written by the role ${role}`, FIX, {
            reason: 'memory_permission_denied',
            details: { domain: slug, role, permission },
          });
        }
        if (!isNew) return [];
        // What was granted stays: a second scope of the name must not undo what an administrator tightened.
        const open = AGENT_ROLES.filter((one) => state.grants[one] === undefined);
        return [
          { type: 'MemoryDomainCreated', data: { domain: slug, ...named(command), created_by_role: role } },
          ...open.map((one): DomainEvent => granted(domain_name, one, 'write')),
        ];
      }
      case 'GrantAccess': {
        const { domain_name, role, permission } = command;
        return state.grants[role] === permission ? [] : [granted(domain_name, role, permission)];
      }
    }
  },
  evolve(state, { type, data }) {
    switch (type) {
      case 'MemoryDomainCreated':
        return { ...state, domains: [...state.domains, data.domain] };
      case 'MemoryAccessGranted':
        return { ...state, grants: { ...state.grants, [data.role]: data.permission } };
    }
  },
});

const FIX = 'write to another domain, or ask an administrator of the workspace for the grant';

const granted = (domain_name: string, role: AgentRole, permission: MemoryPermission): DomainEvent => ({
  type: 'MemoryAccessGranted',
  data: { domain_name, role, permission },
});

/** A system domain keeps its own name; another one is called as its maker says, else by its slug in words. */
function named(command: Extract<DomainCommand, { type: 'WriteToDomain' }>) {
  const { domain_name } = parseDomain(command.domain);
  const system = SYSTEM_DOMAINS.get(domain_name);
  if (system) return system;
  const words = domain_name.replaceAll('-', ' ');
  const label = command.label ?? words.charAt(0).toUpperCase() + words.slice(1);
  return { label, description: command.description };
}
