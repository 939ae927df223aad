import { teamService } from '@cortex/team';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Admin } from '../admin.js';
import type { Workspace } from '../workspaces.js';
import { runningHome, type RunningHome } from '../testing/running-home.js';
import { DEFAULT_WORKSPACE, ensureDefaultWorkspace } from './default-workspace.js';

let home: RunningHome;
beforeAll(async () => {
  home = await runningHome({ beside: [teamService] });
});
afterAll(async () => home[Symbol.asyncDispose]());

const owner = (sub = 'owner') => ({ issuer: home.edge.issuer.url, sub });
const shown = () =>
  home.admin(({ ask }) => ask<Workspace>('cortex.query.team.workspace', { workspace_id: DEFAULT_WORKSPACE }));
const command = (name: string, args: Record<string, unknown>) =>
  home.admin(({ ask }) => ask(`cortex.cmd.team.${name}`, { workspace_id: DEFAULT_WORKSPACE, ...args }));

/** An `ask` that fails at the n-th command, as when `up` is killed there. */
const dying =
  (ask: Admin['ask'], n: number): Admin['ask'] =>
  (subject, args) => {
    if (subject.startsWith('cortex.cmd.') && n-- === 0) throw new Error('killed');
    return ask(subject, args);
  };

it('is finished by the next start wherever one was cut off', async () => {
  // Before it is made, its owner is known, a member, the rule and the mode are there.
  for (const n of [0, 1, 1, 2, 2])
    await expect(home.admin(({ ask }) => ensureDefaultWorkspace(dying(ask, n), owner()))).rejects.toThrow('killed');
  await home.admin(({ ask }) => ensureDefaultWorkspace(ask, owner()));
  expect(await shown()).toMatchObject({
    name: 'Default',
    members: [{ principal_id: expect.stringMatching(/^per_/), role: 'admin' }],
    approval_mode: 'write',
    rules: [{ action_class: 'vendorSyncWrite', decision: 'allow', scope_type: 'workspace' }],
  });
});

it('records nothing when it is there, and keeps what somebody has changed', async () => {
  const bus = await home.edge.nats.busAs('team');
  const last = () => bus.direct.last('CORTEX_EVENTS', `cortex.evt.team.${DEFAULT_WORKSPACE}.*.*`);
  const before = await last();
  await home.admin(({ ask }) => ensureDefaultWorkspace(ask, owner()));
  expect((await last())?.seq).toBe(before?.seq);

  await command('set_approval_mode', { mode: 'always-ask' });
  await command('remove_guard_rule', { rule_id: 'default-vendor-sync-write' });
  await command('upsert_workspace', { name: 'Ours' });
  const changed = await shown();
  await home.admin(({ ask }) => ensureDefaultWorkspace(ask, owner()));
  expect(await shown()).toEqual(changed);
});

it('lets in an owner who has another name or issuer by now', async () => {
  await home.admin(({ ask }) => ensureDefaultWorkspace(ask, owner('bob')));
  expect((await shown()).members).toHaveLength(2);
  await home.admin(({ ask }) => ensureDefaultWorkspace(ask, null));
  expect((await shown()).members).toHaveLength(2);
});
