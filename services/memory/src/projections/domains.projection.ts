import type { DomainEvent } from '@cortex/contracts/memory';
import { defineProjection } from '@cortex/eventstore';
import { parseDomain } from '../domain/slug.js';
import type { MemoryDb } from './tables.js';

/** Every domain of a workspace, and what each role may do with it. */
export const domains = defineProjection<DomainEvent, MemoryDb>({
  name: 'domains_v1',
  subject: 'cortex.evt.memory.*.domain.*',
  tables: ['domains', 'grants'],
  on: {
    MemoryDomainCreated: ({ workspace, at, data: { label, description, created_by_role, domain } }, tx) =>
      tx
        .insertInto('domains')
        .values({
          workspace_id: workspace,
          ...parseDomain(domain),
          label,
          description,
          created_by_role,
          created_at: at,
        })
        .onConflict((oc) => oc.columns(['workspace_id', 'domain']).doNothing())
        .execute(),
    MemoryAccessGranted: ({ workspace, data: { domain_name, role, permission } }, tx) =>
      tx
        .insertInto('grants')
        .values({ workspace_id: workspace, domain_name, role, permission })
        .onConflict((oc) => oc.columns(['workspace_id', 'domain_name', 'role']).doUpdateSet({ permission }))
        .execute(),
  },
});
