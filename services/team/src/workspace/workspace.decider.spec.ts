import { describe, expect, it } from '@jest/globals';
import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import { foldHistories } from '@cortex/testing/fold-histories';
import { specFor } from '@cortex/testing/spec-for';
import { workspace, type WorkspaceCommand } from './workspace.decider.js';

const given = specFor(workspace);
const upsert = (name: string): WorkspaceCommand => ({ type: 'UpsertWorkspace', name });
const member = (principal_id: string, role: 'admin' | 'member' | null): WorkspaceCommand => ({
  type: 'SetMember',
  principal_id,
  role,
});
const created: WorkspaceEvent = { type: 'WorkspaceCreated', data: { name: 'Acme' } };
const set = (principal_id: string, role: 'admin' | 'member'): WorkspaceEvent => ({
  type: 'WorkspaceMemberSet',
  data: { principal_id, role },
});
const removed = (principal_id: string): WorkspaceEvent => ({ type: 'WorkspaceMemberRemoved', data: { principal_id } });

describe('a workspace', () => {
  it('is made once', () => {
    given().when(upsert('Acme')).then(created);
    given(created).when(upsert('Acme')).thenNothing();
  });
  it('may get another name, and keeps its members', () => {
    given(created)
      .when(upsert('Globex'))
      .then({ type: 'WorkspaceRenamed', data: { name: 'Globex' } });
    given(created, set('per_1', 'admin'), { type: 'WorkspaceRenamed', data: { name: 'Globex' } })
      .when(member('per_1', 'admin'))
      .thenNothing();
  });
});

describe('a member', () => {
  it('belongs to a workspace that exists', () =>
    given().when(member('per_1', 'admin')).thenRejects('not_found', 'workspace_id'));
  it('is set, changed and removed, and a repeat records nothing', () => {
    given(created).when(member('per_1', 'member')).then(set('per_1', 'member'));
    given(created, set('per_1', 'member')).when(member('per_1', 'admin')).then(set('per_1', 'admin'));
    given(created, set('per_1', 'member')).when(member('per_1', null)).then(removed('per_1'));
    given(created, set('per_1', 'member')).when(member('per_1', 'member')).thenNothing();
    given(created, set('per_1', 'member'), removed('per_1')).when(member('per_1', null)).thenNothing();
  });
  it('whose id every object has is one like any other', () => {
    for (const id of ['constructor', '__proto__', 'toString']) {
      given(created).when(member(id, null)).thenNothing();
      given(created).when(member(id, 'member')).then(set(id, 'member'));
      given(created, set(id, 'member')).when(member(id, 'member')).thenNothing();
      given(created, set(id, 'member'), removed(id)).when(member(id, null)).thenNothing();
    }
  });
  it('who is the only admin neither goes nor steps down', () => {
    for (const role of [null, 'member'] as const)
      given(created, set('per_1', 'admin'), set('per_2', 'member'))
        .when(member('per_1', role))
        .thenRejects('failed_precondition', 'principal_id');
    given(created, set('per_1', 'admin'), set('per_2', 'admin')).when(member('per_1', null)).then(removed('per_1'));
  });
});

it('stored commits fold for ever', () =>
  expect(foldHistories(workspace, new URL('history/', import.meta.url))).toEqual({
    '0001-first.json': { status: 'created', name: 'Globex', members: { per_1: 'admin' } },
  }));
