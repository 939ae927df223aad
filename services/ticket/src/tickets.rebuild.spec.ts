import { rebuildProjection } from '@cortex/eventstore';
import { eventually, startService, writeEvents, type CallOptions } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { agents } from './projections/agents.projection.js';
import { tickets } from './projections/tickets.projection.js';
import { TicketModule, ticketService } from './ticket.module.js';
import { closeTicket } from './tools/close-ticket.tool.js';
import { createTicket } from './tools/create-ticket.tool.js';
import { getTicket } from './tools/get-ticket.tool.js';
import { updateTicket } from './tools/update-ticket.tool.js';

const TABLES = ['tickets', 'ticket_collaborators', 'ticket_ids', 'agent_ids'];

it('P86 rebuilding the views gives exactly the rows that they have, and they go on from there', async () => {
  await using app = await startService(TicketModule);
  const team = await app.nats.busAs('team');
  await writeEvents(team, 'team.agent', 'w1', 'ag1', [{ type: 'AgentRegistered', data: { name: 'Ada' } }]);
  const options = (workspace: string): CallOptions => ({ approval: { via: 'mode' }, workspace });
  for (let n = 1; n <= 12; n++) {
    const { ticket_id } = await app.call(createTicket, { title: `One ${n}`, priority: n % 5 }, options(`w${n % 3}`));
    const status = ['wip', 'blocked', 'cancelled', 'backlog'][n % 4]!;
    await app.call(updateTicket, { ticket_id, status, add_labels: ['a', 'b'] }, options(`w${n % 3}`));
    if (n % 2) await app.call(closeTicket, { ticket_id, output: { n } }, options(`w${n % 3}`));
  }
  // A view of what another service told is not waited for.
  const assigned = await eventually(() => app.call(createTicket, { title: 'With', assignee: 'ag1' }, options('w1')));
  const bus = await app.nats.busAs('ticket');
  await writeEvents(bus, 'ticket.ticket', 'w1', assigned.ticket_id, [
    { type: 'TicketCollaboratorAdded', data: { principal_id: 'ag1', principal_type: 'agent', role: 'reviewer' } },
    { type: 'TicketPullRequestLinked', data: { pr_external_id: 'PR_1' } },
  ]);

  const owner = app.postgres.pool();
  const rows = async () => {
    const all: Record<string, unknown[]> = {};
    for (const table of TABLES) all[table] = (await owner.query(`select * from ticket.${table} order by 1, 2`)).rows;
    return all;
  };
  const live = await eventually(async () => {
    const found = await rows();
    expect(found).toMatchObject({ tickets: { length: 13 }, ticket_collaborators: { length: 1 } });
    return found;
  });
  const provision = await app.nats.busAs('provision');
  for (const projection of [tickets, agents]) {
    await rebuildProjection({ bus: provision, adminUrl: app.postgres.adminUrl, service: ticketService, projection });
  }
  expect(await rows()).toEqual(live);

  const next = await app.call(createTicket, { title: 'After' }, options('w1'));
  expect(await app.call(getTicket, { ticket_id: next.key }, options('w1'))).toMatchObject({ title: 'After' });
  const roster = await app.call(getTicket, { ticket_id: assigned.key }, options('w1'));
  expect(roster).toMatchObject({
    collaborators: [{ principal_id: 'ag1', principal_type: 'agent', role: 'reviewer' }],
    linked_pr_ids: ['PR_1'],
    version: 2,
  });
});
