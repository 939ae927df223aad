import { failedPrecondition, notFound } from '@cortex/contracts';
import type { WorkspaceEvent, WorkspaceRole } from '@cortex/contracts/workspace';
import { defineDecider } from '@cortex/eventstore';
import { own } from '../own.js';

export type WorkspaceCommand =
  | { type: 'UpsertWorkspace'; name: string }
  /** `role` null: is no member any more. */
  | { type: 'SetMember'; principal_id: string; role: WorkspaceRole | null };
type State = { status: 'none' } | { status: 'created'; name: string; members: Readonly<Record<string, WorkspaceRole>> };

/** Where the one aggregate of a workspace's name and members is found. */
export const ALL = 'all';

export const workspaceNotFound = (): Error =>
  notFound('workspace_id', 'is no workspace', 'make it with cortex workspace create', {
    reason: 'workspace_not_found',
  });

/** Name and members of a workspace. Source: architecture, ruling 15. */
export const workspace = defineDecider<WorkspaceCommand, WorkspaceEvent, State>({
  subject: 'team.workspace',
  initial: { status: 'none' },
  decide(command, state) {
    switch (command.type) {
      case 'UpsertWorkspace': {
        const { name } = command;
        if (state.status === 'none') return [{ type: 'WorkspaceCreated', data: { name } }];
        return state.name === name ? [] : [{ type: 'WorkspaceRenamed', data: { name } }];
      }
      case 'SetMember': {
        if (state.status === 'none') throw workspaceNotFound();
        const { principal_id, role } = command;
        const present = own(state.members, principal_id) ?? null;
        if (present === role) return [];
        // Nobody in it could answer what it asks or let somebody in any more.
        if (present === 'admin' && Object.values(state.members).filter((other) => other === 'admin').length === 1)
          throw failedPrecondition('principal_id', 'is the only admin', 'make somebody else an admin first', {
            reason: 'invalid_state',
          });
        if (role === null) return [{ type: 'WorkspaceMemberRemoved', data: { principal_id } }];
        return [{ type: 'WorkspaceMemberSet', data: { principal_id, role } }];
      }
    }
  },
  evolve(state, { type, data }) {
    const members = state.status === 'none' ? {} : state.members;
    const name = state.status === 'none' ? '' : state.name;
    switch (type) {
      case 'WorkspaceCreated':
      case 'WorkspaceRenamed':
        return { status: 'created', name: data.name, members };
      case 'WorkspaceMemberSet':
        return { status: 'created', name, members: { ...members, [data.principal_id]: data.role } };
      case 'WorkspaceMemberRemoved': {
        const { [data.principal_id]: _, ...others } = members;
        return { status: 'created', name, members: others };
      }
    }
  },
});
