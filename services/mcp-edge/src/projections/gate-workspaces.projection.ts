import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import { defineProjection } from '@cortex/eventstore';
import type { EdgeDb } from './tables.js';

/** Which workspaces there are, and who belongs to them in what role. */
export const gateWorkspaces = defineProjection<WorkspaceEvent, EdgeDb>({
  name: 'gate_workspaces_v1',
  subject: 'cortex.evt.team.*.workspace.*',
  tables: ['workspaces', 'workspace_members'],
  on: {
    WorkspaceCreated: ({ workspace, seq }, tx) =>
      tx
        .insertInto('workspaces')
        .values({ workspace, seq })
        .onConflict((oc) => oc.doNothing())
        .execute(),
    WorkspaceMemberSet: ({ workspace, seq, data: { principal_id, role } }, tx) =>
      tx
        .insertInto('workspace_members')
        .values({ workspace, principal_id, role, seq })
        .onConflict((oc) => oc.columns(['workspace', 'principal_id']).doUpdateSet({ role, seq }))
        .execute(),
    WorkspaceMemberRemoved: ({ workspace, seq, data: { principal_id } }, tx) =>
      tx
        .updateTable('workspace_members')
        .where('workspace', '=', workspace)
        .where('principal_id', '=', principal_id)
        .set({ role: null, seq })
        .execute(),
  },
});
