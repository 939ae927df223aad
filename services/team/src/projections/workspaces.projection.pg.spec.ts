import { expect, it } from '@jest/globals';
import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import { projectionFixture } from '@cortex/testing';
import { migrations } from './tables.js';
import { workspaces } from './workspaces.projection.js';

const created: WorkspaceEvent = { type: 'WorkspaceCreated', data: { name: 'Acme' } };
const set = (principal_id: string, role: 'admin' | 'member'): WorkspaceEvent => ({
  type: 'WorkspaceMemberSet',
  data: { principal_id, role },
});

it('shows a workspace under its newest name with those who belong to it now', async () => {
  await using t = await projectionFixture(workspaces, migrations);
  await t.apply(1, created, set('per_1', 'member'), set('per_2', 'member'));
  await t.apply(2, set('per_1', 'admin'), { type: 'WorkspaceMemberRemoved', data: { principal_id: 'per_2' } });
  await t.apply(3, { ...created, workspace: 'w2' });
  await t.apply(4, { type: 'WorkspaceRenamed', data: { name: 'Globex' } });
  await t.apply(4, { type: 'WorkspaceRenamed', data: { name: 'Globex' } });
  expect(await t.db.selectFrom('workspaces').select(['id', 'name']).orderBy('id').execute()).toEqual([
    { id: 'w1', name: 'Globex' },
    { id: 'w2', name: 'Acme' },
  ]);
  expect(await t.db.selectFrom('memberships').selectAll().execute()).toEqual([
    { workspace: 'w1', principal_id: 'per_1', role: 'admin' },
  ]);
});
