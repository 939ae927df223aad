import { expect, it } from '@jest/globals';
import { rebuildProjection } from '@cortex/eventstore';
import { eventually } from '@cortex/testing';
import { gateProjections } from '../guard/live-views.js';
import { mcpEdgeService } from '../mcp-edge.module.js';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { told, workspaceWith } from '../testing/gate-log.js';
import { testSessions } from '../testing/sessions.js';

const tables = gateProjections.flatMap((projection) => projection.tables);

async function dump(edge: EdgeFixture): Promise<Record<string, string[]>> {
  const pool = edge.postgres.pool('mcp_edge');
  const rows = async (table: string): Promise<[string, string[]]> => {
    const found = await pool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${table} t`);
    return [table, found.rows.map(({ row }) => row).sort()];
  };
  return Object.fromEntries(await Promise.all(tables.map(rows)));
}

it('P86 P87 rebuilding what the gates read gives exactly the rows that are there, and changes no decision', async () => {
  await using edge = await startEdge();
  await using sessions = await testSessions(edge);
  const workspace = 'w1';
  const rule = {
    id: 'r1',
    workspace_id: workspace,
    scope_type: 'workspace' as const,
    scope_id: workspace,
    action_class: 'gitPush' as const,
    decision: 'deny' as const,
    enforcement: 'hard' as const,
    origin: 'manual' as const,
    created_by: 'spec',
  };
  await workspaceWith(edge, workspace, {
    members: ['per_1', 'per_2'],
    approval_mode: 'write',
    rules: [rule, { ...rule, id: 'r2' }],
    spaces: { s1: 'plan' },
  });
  await told(
    edge,
    'team.workspace',
    { workspace },
    { type: 'WorkspaceMemberRemoved', data: { principal_id: 'per_2' } },
  );
  const dial = { agent_id: 'coder', space_id: null, level: 'actFreely' as const };
  await told(
    edge,
    'team.guardrules',
    { workspace },
    { type: 'GuardRuleRemoved', data: { rule_id: 'r2' } },
    { type: 'AutonomySet', data: dial },
  );
  for (const sid of ['long-gone', 'gone', 'open']) await sessions.open(sid, { workspace });
  const ended = { type: 'SessionEnded' as const, data: { reason: 'closed' } };
  await told(edge, 'session.session', { workspace, id: 'long-gone', at: '2026-01-01T00:00:00.000Z' }, ended);
  await told(edge, 'session.session', { workspace, id: 'gone' }, ended);

  const before = await dump(edge);
  expect(before['open_sessions']).toHaveLength(2);
  const bus = await edge.nats.busAs('provision');
  for (const projection of gateProjections) {
    const rebuilt = { bus, adminUrl: edge.postgres.adminUrl, service: mcpEdgeService, projection };
    await rebuildProjection(rebuilt);
    await rebuildProjection(rebuilt);
  }
  expect(await dump(edge)).toEqual(before);
  const { views } = edge.edge;
  await eventually(() => views.fresh() === true);
  expect([...(views.workspace(workspace)?.members.keys() ?? [])]).toEqual(['per_1']);
  expect(views.rules(workspace)).toEqual([rule]);
  expect(['gone', 'open', 'never'].map((sid) => views.sessionOpen(sid))).toEqual(['ended', 'open', 'unknown']);
});
