import type { DomainEvent } from '@cortex/contracts/memory';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { readableDomains } from './candidates.js';
import { memory } from '../projections/memory.projection.js';
import { migrations } from '../projections/tables.js';

const created = (domain: string): DomainEvent => ({
  type: 'MemoryDomainCreated',
  data: { domain, label: 'Label', description: null, created_by_role: null },
});
const granted = (domain_name: string, permission: 'none' | 'read' | 'write'): DomainEvent => ({
  type: 'MemoryAccessGranted',
  data: { domain_name, role: 'qa', permission },
});

it('shows a role the domains that were not taken from it, in every scope', async () => {
  await using t = await projectionFixture(memory, migrations);
  await t.apply(1, created('auth-flow'), granted('auth-flow', 'write'));
  await t.apply(2, created('repo:acme-api/auth-flow'));
  await t.apply(3, created('deploys'), granted('deploys', 'read'));
  expect(await readableDomains(t.db, undefined, 'qa')).toBeNull();
  expect(await readableDomains(t.db, 'Auth flow', 'qa')).toEqual(['auth-flow', 'repo:acme-api/auth-flow']);
  expect(await readableDomains(t.db, 'repo:acme-api/auth-flow', 'qa')).toEqual(['repo:acme-api/auth-flow']);
  expect(await readableDomains(t.db, 'repo:acme-api', 'qa')).toEqual([]);
  await t.apply(4, granted('auth-flow', 'none'));
  expect(await readableDomains(t.db, undefined, 'qa')).toEqual(['deploys']);
  expect(await readableDomains(t.db, 'auth-flow', 'qa')).toEqual([]);
  expect(await readableDomains(t.db, undefined, 'coder')).toBeNull();
  expect(await readableDomains(t.db, undefined, null)).toBeNull();
});

it('keeps a domain that is made twice as it was', async () => {
  await using t = await projectionFixture(memory, migrations);
  await t.apply(1, created('auth-flow'));
  await t.apply(2, { ...created('auth-flow'), data: { ...created('auth-flow').data, label: 'Other' } } as DomainEvent);
  expect(await t.db.selectFrom('domains').select(['label', 'domain_name', 'repo']).execute()).toEqual([
    { label: 'Label', domain_name: 'auth-flow', repo: null },
  ]);
});
