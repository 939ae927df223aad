import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROVISIONER } from '@cortex/contracts';
import { type RunningService, startService } from '@cortex/testing';
import { TeamModule } from '../team.module.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(TeamModule);
  await command('upsert_workspace', { workspace_id: 'w1', name: 'Acme' });
});
afterAll(async () => app[Symbol.asyncDispose]());

const command = <T>(name: string, args: Record<string, unknown>) => app.ask<T>('cmd', name, args);
const shown = (workspace_id: string) =>
  app.ask<Record<string, unknown>>('query', 'workspace', { workspace_id }, { from: PROVISIONER });
const allow = { action_class: 'vendorSyncWrite', decision: 'allow' };

describe('what is set for a workspace', () => {
  it('is shown as the log has it at once', async () => {
    await command('set_member', { workspace_id: 'w1', principal_id: 'per_1', role: 'admin' });
    await command('set_approval_mode', { workspace_id: 'w1', mode: 'write' });
    await command('set_guard_rule', { workspace_id: 'w1', rule: { id: 'r1', ...allow } });
    await command('set_autonomy', { workspace_id: 'w1', agent_id: 'coder', level: 'proposeOnly' });
    expect(await shown('w1')).toEqual({
      id: 'w1',
      name: 'Acme',
      members: [{ principal_id: 'per_1', role: 'admin' }],
      approval_mode: 'write',
      rules: [
        {
          id: 'r1',
          workspace_id: 'w1',
          scope_type: 'workspace',
          scope_id: 'w1',
          ...allow,
          enforcement: 'hard',
          origin: 'manual',
          created_by: 'per_1',
        },
      ],
      dials: [{ agent_id: 'coder', space_id: null, level: 'proposeOnly' }],
    });
  });
  it('needs the workspace', async () => {
    for (const [name, args] of [
      ['set_member', { principal_id: 'per_1', role: 'member' }],
      ['set_approval_mode', { mode: 'write' }],
      ['set_guard_rule', { rule: allow }],
      ['remove_guard_rule', { rule_id: 'r1' }],
      ['set_autonomy', { agent_id: 'coder', level: 'actFreely' }],
    ] as const)
      await expect(command(name, { workspace_id: 'none', ...args })).rejects.toMatchObject({
        kind: 'not_found',
        reason: 'workspace_not_found',
      });
    await expect(shown('none')).rejects.toMatchObject({ reason: 'workspace_not_found' });
  });
});

describe('a guard rule', () => {
  it('without an id gets one, the same when the command comes again', async () => {
    const send = () =>
      app.ask<{ rule: { id: string } }>('cmd', 'set_guard_rule', { workspace_id: 'w1', rule: allow }, { key: 'k1' });
    const { rule } = await send();
    expect(rule.id).toMatch(/^rule_/);
    expect((await send()).rule.id).toBe(rule.id);
  });
  it.each<[string, Record<string, unknown>, string]>([
    ['about nothing', { decision: 'deny' }, 'exactly one of action_class and command_prefix'],
    ['of an unknown class', { ...allow, action_class: 'gitPull' }, 'action_class'],
    ['with a facet that nobody knows', { ...allow, constraint: { path: ['x'] } }, 'path'],
    ['with a constraint that says nothing', { ...allow, constraint: {} }, 'names no facet'],
    ['with a facet without a value', { ...allow, constraint: { hosts: [] } }, 'hosts'],
    ['for two commands at once', { command_prefix: 'git push && rm', decision: 'deny' }, 'plain words'],
    ['for a blank command', { command_prefix: '  ', decision: 'deny' }, 'plain words'],
    ['of an agent that is not named', { ...allow, scope_type: 'agent' }, 'rule.scope_id is missing'],
    ['of the installation', { ...allow, scope_type: 'managed' }, 'scope_type'],
    ['that has lapsed', { ...allow, expires_at: '2020-01-01T00:00:00Z' }, 'has passed'],
    ['until some day', { ...allow, expires_at: 'tomorrow' }, 'expires_at'],
    ['with a field of its own', { ...allow, origin: 'managed' }, 'origin'],
  ])('%s is refused', async (_what, rule, problem) =>
    expect(command('set_guard_rule', { workspace_id: 'w1', rule })).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringContaining(problem),
    }),
  );
});

it('T84 an id that cannot stand in a subject, or is kept for no workspace, makes no workspace', async () => {
  for (const workspace_id of ['_', 'a.b', '*', '>', '', 'x'.repeat(65)])
    await expect(command('upsert_workspace', { workspace_id, name: 'x' })).rejects.toMatchObject({
      kind: 'invalid_argument',
      field: 'workspace_id',
    });
});

it('of two who change the members at once none is forgotten', async () => {
  await command('upsert_workspace', { workspace_id: 'race', name: 'Race' });
  const names = Array.from({ length: 6 }, (_, i) => `per_${i}`);
  await Promise.all(
    names.map((principal_id) => command('set_member', { workspace_id: 'race', principal_id, role: 'member' })),
  );
  const { members } = await shown('race');
  expect((members as { principal_id: string }[]).map(({ principal_id }) => principal_id).sort()).toEqual(names);
});

it('T81 no service may make a workspace or set a rule', async () => {
  for (const from of ['mcp-edge', 'session'] as const)
    await expect(
      app.ask(
        'cmd',
        'set_member',
        { workspace_id: 'w1', principal_id: 'per_9', role: 'admin' },
        { from, deadlineMs: 500 },
      ),
    ).rejects.toMatchObject({ kind: expect.stringMatching(/permission_denied|unavailable|deadline_exceeded/) });
});
