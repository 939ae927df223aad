import { rebuildProjection } from '@cortex/eventstore';
import { eventually, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { gaps } from './projections/gaps.projection.js';
import { testHook } from './testing/hook.js';
import { TicketModule, ticketService } from './ticket.module.js';

it('P86 rebuilding the view of missing capabilities gives the rows that it has, and tells nobody again', async () => {
  await using hook = await testHook();
  await using app = await startService(TicketModule, { env: { CORTEX_TICKET_WEBHOOK_URL: hook.url } });
  const nowhere = { workspace: null, from: 'mcp-edge' as const };
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const severity = n === 0 ? 'blocking' : 'inconvenient';
    const report = { whatIWanted: `wish ${n}`, userIntent: 'x', severity, contextTool: null, contextApp: null };
    const args = { ...report, suggestedShape: null, caller: 'a'.repeat(64) };
    ids.push((await app.ask<{ ticketId: string }>('cmd', 'report_gap', args, nowhere)).ticketId);
  }
  const operator = { ...nowhere, principal: { type: 'system' as const, id: 'operator', roles: ['operator'] } };
  const changes = [
    { status: 'triaged' },
    { status: 'planned', triageNote: 'x' },
    { duplicateOf: ids[0] },
    { status: 'resolved' },
  ];
  for (const [n, change] of changes.entries())
    await app.ask('cmd', 'triage_gap', { ticketId: ids[n + 1], ...change }, operator);

  const owner = app.postgres.pool();
  const rows = async () =>
    (await owner.query('select * from ticket.missing_capabilities order by id')).rows as object[];
  const live = await eventually(async () => {
    const found = await rows();
    expect(found).toHaveLength(6);
    return found;
  });
  const bus = await app.nats.busAs('provision');
  await rebuildProjection({ bus, adminUrl: app.postgres.adminUrl, service: ticketService, projection: gaps });
  expect(await rows()).toEqual(live);
  // Nobody is here who knows names, and the notice did not wait for one.
  expect(hook.told.map(({ json }) => json)).toMatchObject([{ ticketId: ids[0], agent: 'anonymous' }]);
});
