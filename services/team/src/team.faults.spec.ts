import { expect, it } from '@jest/globals';
import { PROVISIONER } from '@cortex/contracts';
import { rebuildProjection } from '@cortex/eventstore';
import { eventually, natsFixture, ownPostgres, startService } from '@cortex/testing';
import { workspaces } from './projections/workspaces.projection.js';
import { TeamModule, teamService } from './team.module.js';

const allow = { action_class: 'vendorSyncWrite', decision: 'allow' };

it('P82 a rule that is sent again after a restart is the same rule, and one event', async () => {
  await using nats = await natsFixture({ services: [teamService] });
  await using postgres = await ownPostgres([teamService]);
  const set = { workspace_id: 'w1', rule: allow };
  const first = await startService(TeamModule, { nats, postgres });
  await first.ask('cmd', 'upsert_workspace', { workspace_id: 'w1', name: 'Acme' });
  const { rule } = await first.ask<{ rule: { id: string } }>('cmd', 'set_guard_rule', set, { key: 'k1' });
  await first[Symbol.asyncDispose]();

  await using second = await startService(TeamModule, { nats, postgres });
  expect(await second.ask('cmd', 'set_guard_rule', set, { key: 'k1' })).toEqual({ rule });
  const shown = await second.ask<{ rules: object[] }>(
    'query',
    'workspace',
    { workspace_id: 'w1' },
    { from: PROVISIONER },
  );
  expect(shown.rules).toEqual([rule]);
});

it('while PostgreSQL is away workspaces are made and rules set; what is listed catches up, and a rebuild gives the same', async () => {
  await using nats = await natsFixture({ services: [teamService] });
  await using postgres = await ownPostgres([teamService]);
  await using app = await startService(TeamModule, { nats, postgres });
  await postgres.kill();
  await app.ask('cmd', 'upsert_workspace', { workspace_id: 'w1', name: 'Acme' });
  await app.ask('cmd', 'set_member', { workspace_id: 'w1', principal_id: 'per_1', role: 'admin' });
  await app.ask('cmd', 'set_guard_rule', { workspace_id: 'w1', rule: allow });
  await postgres.start();
  const listed = () => app.ask<{ workspaces: object[] }>('query', 'workspaces', {}, { from: PROVISIONER });
  await eventually(async () =>
    expect((await listed()).workspaces).toMatchObject([{ id: 'w1', name: 'Acme', members: 1 }]),
  );
  const before = await listed();
  const bus = await nats.busAs('provision');
  await rebuildProjection({ bus, adminUrl: postgres.adminUrl, service: teamService, projection: workspaces });
  expect(await listed()).toEqual(before);
});
