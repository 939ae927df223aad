import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, type RunningService, startService } from '@cortex/testing';
import { TeamModule } from '../team.module.js';
import { listWorkspaces } from './list-workspaces.tool.js';

let app: RunningService;
const upsert = (workspace_id: string, name: string) => app.ask('cmd', 'upsert_workspace', { workspace_id, name });
const join = (workspace_id: string, principal_id: string) =>
  app.ask('cmd', 'set_member', { workspace_id, principal_id, role: 'member' });
const list = async (who: { id: string; type?: 'user' | 'agent' }, workspace: string | null = null) => {
  const principal = { type: who.type ?? 'user', id: who.id, roles: [] };
  const { workspaces, count } = await app.call(listWorkspaces, {}, { principal, workspace });
  expect(count).toBe(workspaces.length);
  return workspaces.map(({ id, name }) => `${id} ${name}`);
};

beforeAll(async () => {
  app = await startService(TeamModule);
  await upsert('w1', 'Beta');
  await upsert('w2', 'Alpha');
  await upsert('w3', 'Gamma');
  await join('w1', 'per_1');
  await join('w2', 'per_1');
  await join('w3', 'per_2');
  await eventually(async () => expect(await list({ id: 'per_2' })).toEqual(['w3 Gamma']));
});
afterAll(async () => app[Symbol.asyncDispose]());

it('lists to a person the workspaces that it belongs to, by name, and no other', async () => {
  expect(await list({ id: 'per_1' })).toEqual(['w2 Alpha', 'w1 Beta']);
  expect(await list({ id: 'per_2' })).toEqual(['w3 Gamma']);
  expect(await list({ id: 'per_3' })).toEqual([]);
});

it('lists to an agent the workspace of its session alone', async () => {
  expect(await list({ id: 'ses_1', type: 'agent' }, 'w1')).toEqual(['w1 Beta']);
  expect(await list({ id: 'ses_1', type: 'agent' }, null)).toEqual([]);
});

it('takes no arguments, workspace_id neither', async () => {
  const { head } = await app.send('list_workspaces', { workspace_id: 'w1' });
  expect(head).toMatchObject({
    ok: false,
    error: {
      kind: 'invalid_argument',
      reason: 'unknown_argument',
      field: 'workspace_id',
      message: expect.stringContaining('leave it out'),
    },
  });
});
