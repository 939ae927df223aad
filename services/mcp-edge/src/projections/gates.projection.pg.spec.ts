import { describe, expect, it } from '@jest/globals';
import type { RunEvent } from '@cortex/contracts/run';
import type { SessionEvent } from '@cortex/contracts/session';
import type { GuardRulesEvent, WorkspaceEvent } from '@cortex/contracts/workspace';
import { projectionFixture } from '@cortex/testing';
import { gateRules } from './gate-rules.projection.js';
import { gateRuns } from './gate-runs.projection.js';
import { gateSessions } from './gate-sessions.projection.js';
import { gateWorkspaces } from './gate-workspaces.projection.js';
import { migrations } from './tables.js';

it('a member who goes stays as a row without a role, so that every edge hears of it', async () => {
  await using t = await projectionFixture(gateWorkspaces, migrations);
  const set: WorkspaceEvent = { type: 'WorkspaceMemberSet', data: { principal_id: 'per_1', role: 'admin' } };
  await t.apply(3, { type: 'WorkspaceCreated', data: { name: 'Acme' } }, set);
  await t.apply(5, { type: 'WorkspaceMemberRemoved', data: { principal_id: 'per_1' } });
  const rows = () => t.db.selectFrom('workspace_members').select(['role', 'seq']).execute();
  expect(await rows()).toEqual([{ role: null, seq: '5' }]);
  await t.apply(8, set);
  expect(await rows()).toEqual([{ role: 'admin', seq: '8' }]);
  expect(await t.db.selectFrom('workspaces').selectAll().execute()).toEqual([{ workspace: 'w1', seq: '3' }]);
});

it('a rule that is removed stays as a row without one', async () => {
  await using t = await projectionFixture(gateRules, migrations);
  const rule = {
    id: 'r1',
    workspace_id: 'w1',
    scope_type: 'workspace' as const,
    scope_id: 'w1',
    action_class: 'gitPush' as const,
    decision: 'deny' as const,
    enforcement: 'hard' as const,
    origin: 'manual' as const,
    created_by: 'cli',
  };
  const set: GuardRulesEvent = { type: 'GuardRuleSet', data: { rule } };
  await t.apply(1, set, { type: 'ApprovalModeSet', data: { mode: 'write' } });
  await t.apply(2, { ...set, workspace: 'w2' });
  expect(await t.db.selectFrom('guard_rules').select(['workspace', 'rule']).orderBy('workspace').execute()).toEqual([
    { workspace: 'w1', rule },
    { workspace: 'w2', rule },
  ]);
  await t.apply(3, { type: 'GuardRuleRemoved', data: { rule_id: 'r1' } });
  expect(await t.db.selectFrom('guard_rules').select(['workspace', 'rule', 'seq']).orderBy('seq').execute()).toEqual([
    { workspace: 'w2', rule, seq: '2' },
    { workspace: 'w1', rule: null, seq: '3' },
  ]);
});

describe('sessions', () => {
  const data: Extract<SessionEvent, { type: 'SessionStarted' }>['data'] = {
    channel: 'web:ses_1',
    project: 'general',
    backend: null,
    provider: null,
    model: null,
    thinking: null,
    mode: null,
    composition: 'direct',
    user_started: true,
    kind: 'direct',
    parent_session_id: null,
    root_session_id: 'ses_1',
    person_id: 'per_1',
    agent_id: null,
    groups: ['cortex-core'],
    allowlist: null,
    scopes: ['mcp:cortex:read'],
    execution_id: null,
    trigger: 'cli',
  };
  const started = { type: 'SessionStarted' as const, data };
  const ended = { type: 'SessionEnded' as const, data: { reason: 'closed' } };

  it('is open as it was started until it ends, and cannot be started, moved or ended from another workspace', async () => {
    await using t = await projectionFixture(gateSessions, migrations);
    await t.apply(1, { ...started, id: 'ses_1' });
    await t.apply(2, { ...started, data: { ...data, scopes: ['mcp:cortex:admin'] }, id: 'ses_1', workspace: 'w2' });
    await t.apply(3, { ...ended, id: 'ses_1', workspace: 'w2' });
    const row = () => t.db.selectFrom('open_sessions').selectAll().executeTakeFirst();
    expect(await row()).toEqual({ workspace: 'w1', session_id: 'ses_1', started: data, ended_at: null, seq: '1' });
    await t.apply(4, { ...ended, id: 'ses_1', at: '2026-01-05T11:00:00.000Z' });
    expect(await row()).toMatchObject({ ended_at: new Date('2026-01-05T11:00:00.000Z'), seq: '4' });
    await t.apply(5, { ...started, id: 'ses_1' }, { ...ended, id: 'ses_1', at: '2026-01-05T12:00:00.000Z' });
    expect(await row()).toMatchObject({ ended_at: new Date('2026-01-05T11:00:00.000Z') });
  });
  it('is remembered after its end for longer than a token lives, and no longer', async () => {
    await using t = await projectionFixture(gateSessions, migrations);
    const ids = async () =>
      (await t.db.selectFrom('open_sessions').select('session_id').execute()).map((r) => r.session_id);
    await t.apply(1, { ...started, id: 'ses_1' });
    await t.apply(2, { ...ended, id: 'ses_1', at: '2026-01-05T10:00:00.000Z' });
    await t.apply(3, { ...started, id: 'ses_2' });
    await t.apply(4, { ...ended, id: 'ses_2', at: '2026-01-05T22:00:00.000Z' });
    expect((await ids()).sort()).toEqual(['ses_1', 'ses_2']);
    await t.apply(5, { ...started, id: 'ses_3' });
    await t.apply(6, { ...ended, id: 'ses_3', at: '2026-01-05T23:00:00.001Z' });
    expect((await ids()).sort()).toEqual(['ses_2', 'ses_3']);
  });
});

it('an agent is at work on its newest run, whatever an older one still says', async () => {
  await using t = await projectionFixture(gateRuns, migrations);
  const run = (run_id: string): RunEvent => ({
    type: 'RunStarted',
    data: {
      run_id,
      agent_id: 'coder',
      space_id: 's1',
      conversation_id: null,
      ticket_id: null,
      mode: null,
      prompt: 'do it',
      cost_cap_cents: null,
      in_reply_to_agent_id: null,
    },
  });
  const rows = () => t.db.selectFrom('active_runs').select(['run_id', 'active']).execute();
  await t.apply(1, run('run_1'));
  await t.apply(2, run('run_2'));
  await t.apply(3, { type: 'RunFinished', data: { run_id: 'run_1', outcome: 'done', cost_cents: 1, turns: 1 } });
  expect(await rows()).toEqual([{ run_id: 'run_2', active: true }]);
  await t.apply(4, { type: 'RunFailed', data: { run_id: 'run_2', reason: 'spec' } });
  expect(await rows()).toEqual([{ run_id: 'run_2', active: false }]);
});
