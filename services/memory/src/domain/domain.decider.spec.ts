import { AGENT_ROLES, type AgentRole } from '@cortex/contracts/agent';
import type { DomainEvent, MemoryPermission } from '@cortex/contracts/memory';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { describe, expect, it } from '@jest/globals';
import { domain, type DomainCommand } from './domain.decider.js';

const given = specFor(domain);
const write = (slug: string, role: AgentRole | null, label: string | null = null): DomainCommand => ({
  type: 'WriteToDomain',
  domain: slug,
  label,
  description: null,
  role,
});
const grant = (role: AgentRole, permission: MemoryPermission): DomainEvent => ({
  type: 'MemoryAccessGranted',
  data: { domain_name: 'auth-flow', role, permission },
});
const created = (slug: string, role: AgentRole | null, label = 'Auth flow'): DomainEvent => ({
  type: 'MemoryDomainCreated',
  data: { domain: slug, label, description: null, created_by_role: role },
});
const open = [created('auth-flow', 'coder'), ...AGENT_ROLES.map((role) => grant(role, 'write'))];

describe('writing to a domain', () => {
  it('makes it and lets every role write to it', () =>
    given()
      .when(write('auth-flow', 'coder'))
      .then(...open));
  it('records nothing when it is there', () =>
    given(...open)
      .when(write('auth-flow', 'qa'))
      .thenNothing());
  it('calls it as its maker says', () =>
    given()
      .when(write('auth-flow', null, 'Login'))
      .then(created('auth-flow', null, 'Login'), ...open.slice(1)));
  it('calls a system domain by its own name', () => {
    const [first] = domain.decide(write('review-guidelines', 'qa', 'Ours'), domain.initial);
    expect(first).toMatchObject({ data: { label: 'Review guidelines', description: expect.any(String) } });
  });
  it.each(['read', 'none'] as const)('is refused to a role that has %s', (permission) =>
    given(...open, grant('qa', permission))
      .when(write('auth-flow', 'qa'))
      .thenRejects('permission_denied', 'domain'),
  );
  it('names role and domain in the refusal', () => {
    const state = [...open, grant('qa', 'read')].reduce(
      (s, event) =>
        domain.evolve(s, { ...event, at: '', actor: { kind: 'user', id: '' }, workspace: 'w1', version: 1 }),
      domain.initial,
    );
    expect(() => domain.decide(write('auth-flow', 'qa'), state)).toThrow(
      'domain auth-flow may not be written by the role qa; write to another domain, or ask an administrator',
    );
  });
  it('is never refused to a person that acts in no role', () =>
    given(...open, grant('qa', 'none'))
      .when(write('auth-flow', null))
      .thenNothing());
});

describe('a second scope of a name', () => {
  it('keeps what an administrator tightened', () =>
    given(...open, grant('qa', 'none'))
      .when(write('repo:acme-api/auth-flow', 'coder'))
      .then(created('repo:acme-api/auth-flow', 'coder')));
  it('cannot be made by a role that may only read', () =>
    given(...open, grant('qa', 'read'))
      .when(write('repo:acme-api/auth-flow', 'qa'))
      .thenRejects('permission_denied', 'domain'));
});

describe('granting', () => {
  const command: DomainCommand = { type: 'GrantAccess', domain_name: 'auth-flow', role: 'qa', permission: 'none' };
  it('may come before the domain, which then keeps it', () => {
    given().when(command).then(grant('qa', 'none'));
    given(grant('qa', 'none'))
      .when(write('auth-flow', 'coder'))
      .then(...open.filter((event) => event.type !== 'MemoryAccessGranted' || event.data.role !== 'qa'));
  });
  it('records nothing the second time', () =>
    given(...open, grant('qa', 'none'))
      .when(command)
      .thenNothing());
});

it('folds every stored history', () => {
  expect(foldHistories(domain, new URL('history/', import.meta.url))).toEqual({
    '0001-two-scopes.json': {
      domains: ['auth-flow', 'repo:acme-api/auth-flow'],
      grants: { coder: 'write', qa: 'none' },
    },
  });
});
