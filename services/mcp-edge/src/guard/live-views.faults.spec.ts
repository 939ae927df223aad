import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rebuildProjection } from '@cortex/eventstore';
import { eventually, natsFixture, ownPostgres, type NatsFixture, type OwnPostgres } from '@cortex/testing';
import pg from 'pg';
import { mcpEdgeService } from '../mcp-edge.module.js';
import { gateRules } from '../projections/gate-rules.projection.js';
import { gateWorkspaces } from '../projections/gate-workspaces.projection.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { personOf, record, told, workspaceWith } from '../testing/gate-log.js';
import { ran, sampleService } from '../testing/sample-tools.js';

let postgres: OwnPostgres;
let nats: NatsFixture;
let edge: EdgeFixture;
const services = [mcpEdgeService, sampleService];

beforeAll(async () => {
  postgres = await ownPostgres(services);
  nats = await natsFixture({ services });
  edge = await startEdge({ nats, postgres });
  await workspaceWith(edge, 'w1', { members: [await personOf(edge)], approval_mode: 'write', rules: [rule('allow')] });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const rule = (decision: 'allow' | 'deny', workspace_id = 'w1') => ({
  id: 'tickets',
  workspace_id,
  scope_type: 'workspace' as const,
  scope_id: workspace_id,
  action_class: 'vendorSyncWrite' as const,
  decision,
  enforcement: 'hard' as const,
  origin: 'manual' as const,
  created_by: 'spec',
});
const setRule = (decision: 'allow' | 'deny') => ({ type: 'GuardRuleSet' as const, data: { rule: rule(decision) } });
const create = (at: EdgeFixture = edge) => at.call('sample_ticket', { title: 'x', workspace_id: 'w1' });
const fault = (answer: Awaited<ReturnType<EdgeFixture['call']>>) => answer.body.result?._meta?.['cortex/error'];
const ready = async (at: EdgeFixture = edge) => (await fetch(`${at.origin}/ready`)).status === 200;

/** Holds up whatever would write the table, and lets it be read: the projection is paused, the gates' own reads are not. */
async function paused(table: string) {
  const client = new pg.Client({ connectionString: postgres.adminUrl });
  await client.connect();
  await client.query(`begin; lock table mcp_edge.${table} in exclusive mode`);
  return { go: () => client.query('rollback').finally(() => client.end()) };
}

describe('a view behind the log at a gate', () => {
  it('T47 refuses what it would decide, runs nothing by old rules, and lets pass what needs no view', async () => {
    const { go } = await paused('guard_rules');
    try {
      await record(edge, 'team.guardrules', { workspace: 'w1' }, setRule('deny'));
      await eventually(async () => !(await ready()));
      const before = ran('sample_ticket');
      for (const refused of await Promise.all([create(), create(), edge.call('sample_spawn', { command: 'ls' })]))
        expect(fault(refused)).toMatchObject({ kind: 'unavailable', retryable: true });
      expect(ran('sample_ticket')).toBe(before);
      expect((await edge.call('sample_echo', { text: 'x' })).body.result.isError).toBeUndefined();
      const { checks } = (await (await fetch(`${edge.origin}/ready`)).json()) as { checks: Record<string, object> };
      expect(checks['mcp-edge.views']).toEqual({
        ok: false,
        problem: expect.stringContaining('gate_rules_v1 is behind'),
      });
    } finally {
      await go();
    }
    await eventually(() => ready());
    expect(fault(await create())).toMatchObject({ reason: 'denied_by_policy' });
  });

  it('T47 a call that came meanwhile is decided by what the view shows when it has caught up', async () => {
    const { go } = await paused('guard_rules');
    const waiting: ReturnType<typeof create>[] = [];
    try {
      await record(edge, 'team.guardrules', { workspace: 'w1' }, setRule('allow'));
      await eventually(async () => !(await ready()));
      waiting.push(create());
    } finally {
      await go();
    }
    const [answer] = await Promise.all(waiting);
    expect(answer?.body.result.structuredContent).toEqual({ workspace: 'w1', via: 'mode' });
    await eventually(() => ready());
  });
});

describe('several edges', () => {
  it('the one that does not run the projections is told, and takes over when the other is gone', async () => {
    const second = await startEdge({ nats, postgres });
    try {
      await told(
        second,
        'team.space',
        { workspace: 'w1', id: 's1' },
        {
          type: 'SpaceModeChanged',
          data: { space_id: 's1', from: 'chat', to: 'plan', cause: 'spec' },
        },
      );
      expect(second.edge.views.spaceMode('w1', 's1')).toBe('plan');
      await edge[Symbol.asyncDispose]();
      await told(
        second,
        'team.space',
        { workspace: 'w1', id: 's1' },
        {
          type: 'SpaceModeChanged',
          data: { space_id: 's1', from: 'plan', to: 'review', cause: 'spec' },
        },
      );
      expect(second.edge.views.spaceMode('w1', 's1')).toBe('review');
      await eventually(() => ready(second));
    } finally {
      await second[Symbol.asyncDispose]();
      edge = await startEdge({ nats, postgres });
      await workspaceWith(edge, 'w1', { members: [await personOf(edge)] });
    }
  });
});

describe('while PostgreSQL is away', () => {
  it('what is held in memory counts as long as the log shows nothing new, and no longer', async () => {
    await eventually(() => ready());
    const token = await edge.token();
    expect((await create()).body.result.structuredContent).toMatchObject({ workspace: 'w1' });
    await postgres.kill();
    const killed = performance.now();
    try {
      // Longer than a view may lag, it was compared with the log alone.
      await eventually(() => performance.now() - edge.edge.views.ageMs > killed + 2_000);
      const answer = await edge.call('sample_ticket', { title: 'x', workspace_id: 'w1' }, { token });
      expect(answer.body.result.structuredContent).toMatchObject({ workspace: 'w1' });

      await record(edge, 'team.guardrules', { workspace: 'w1' }, setRule('deny'));
      await eventually(async () =>
        expect(fault(await edge.call('sample_ticket', { title: 'x', workspace_id: 'w1' }, { token }))).toMatchObject({
          kind: 'unavailable',
        }),
      );
    } finally {
      await postgres.start();
    }
    await eventually(async () => expect(fault(await create())).toMatchObject({ reason: 'denied_by_policy' }));
  });

  it('an edge that starts then is not ready and decides nothing, until it is back', async () => {
    await postgres.kill();
    const second = await startEdge({ nats, postgres, ready: false });
    try {
      const asked = second.edge.views.fresh();
      expect(asked).not.toBe(true);
      expect(await asked).toBe(false);
      expect(second.edge.views.workspace('w1')).toBeUndefined();
      await postgres.start();
      await eventually(() => second.edge.views.fresh() === true);
      expect(second.edge.views.workspace('w1')?.members.size).toBeGreaterThan(0);
    } finally {
      await second[Symbol.asyncDispose]();
    }
  });
});

it('after an outage of NATS the views are compared again before they count', async () => {
  await eventually(() => ready());
  await nats.kill();
  await eventually(() => edge.edge.views.fresh() !== true);
  await nats.restart();
  await eventually(() => ready());
  await told(edge, 'team.guardrules', { workspace: 'w1' }, setRule('allow'));
  expect(edge.edge.views.rules('w1')).toEqual([rule('allow')]);
});

it('a rebuild of a projection leaves the views as they are, and what comes after it is seen', async () => {
  const bus = await nats.busAs('provision');
  const before = edge.edge.views.rules('w1');
  await rebuildProjection({ bus, adminUrl: postgres.adminUrl, service: mcpEdgeService, projection: gateRules });
  await eventually(() => ready());
  expect(edge.edge.views.rules('w1')).toEqual(before);
  await told(edge, 'team.guardrules', { workspace: 'w1' }, { type: 'GuardRuleRemoved', data: { rule_id: 'tickets' } });
  expect(edge.edge.views.rules('w1')).toEqual([]);
});

it('a hint that is none changes nothing', async () => {
  const bus = await nats.busAs('mcp-edge');
  for (const text of ['', 'no json', 'null', '7', '{"projection":"gate_rules_v1","seq":"x"}', '{"projection":7}'])
    bus.publish('cortex.live.mcp-edge.views', text);
  await told(edge, 'team.guardrules', { workspace: 'w1' }, setRule('allow'));
  expect(edge.edge.views.rules('w1')).toEqual([rule('allow')]);
});

it('what the database has lost is forgotten, and nothing is decided without it until it is made anew', async () => {
  const client = new pg.Client({ connectionString: postgres.adminUrl });
  await client.connect();
  try {
    await client.query(
      `begin; truncate mcp_edge.workspaces, mcp_edge.workspace_members;
       update mcp_edge.projection_checkpoint set seq = 0 where projection = 'gate_workspaces_v1'; commit`,
    );
  } finally {
    await client.end();
  }
  await eventually(() => edge.edge.views.workspace('w1') === undefined);
  await eventually(async () => !(await ready()));
  expect(fault(await create())).toMatchObject({ kind: 'unavailable' });
  const bus = await nats.busAs('provision');
  await rebuildProjection({ bus, adminUrl: postgres.adminUrl, service: mcpEdgeService, projection: gateWorkspaces });
  await eventually(() => ready());
  expect((await create()).body.result.structuredContent).toMatchObject({ workspace: 'w1' });
});
