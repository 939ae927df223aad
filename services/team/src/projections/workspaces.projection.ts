import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import { defineProjection } from '@cortex/eventstore';
import type { TeamDb } from './tables.js';

/** Every workspace with its members. */
export const workspaces = defineProjection<WorkspaceEvent, TeamDb>({
  name: 'workspaces_v1',
  subject: 'cortex.evt.team.*.workspace.*',
  tables: ['workspaces', 'memberships'],
  on: {
    WorkspaceCreated: ({ workspace, at, data }, tx) =>
      tx
        .insertInto('workspaces')
        .values({ id: workspace, name: data.name, created_at: new Date(at) })
        .onConflict((oc) => oc.column('id').doUpdateSet({ name: data.name }))
        .execute(),
    WorkspaceRenamed: ({ workspace, data }, tx) =>
      tx.updateTable('workspaces').where('id', '=', workspace).set({ name: data.name }).execute(),
    WorkspaceMemberSet: ({ workspace, data: { principal_id, role } }, tx) =>
      tx
        .insertInto('memberships')
        .values({ workspace, principal_id, role })
        .onConflict((oc) => oc.columns(['principal_id', 'workspace']).doUpdateSet({ role }))
        .execute(),
    WorkspaceMemberRemoved: ({ workspace, data: { principal_id } }, tx) =>
      tx
        .deleteFrom('memberships')
        .where('workspace', '=', workspace)
        .where('principal_id', '=', principal_id)
        .execute(),
  },
});
