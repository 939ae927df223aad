import { eventually, ownPostgres, startService, type CallOptions } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { TicketModule, ticketService } from './ticket.module.js';
import { closeTicket } from './tools/close-ticket.tool.js';
import { createTicket } from './tools/create-ticket.tool.js';
import { getTicket } from './tools/get-ticket.tool.js';
import { listTickets } from './tools/list-tickets.tool.js';
import { updateTicket } from './tools/update-ticket.tool.js';

const approved: CallOptions = { approval: { via: 'mode' } };

it('tickets are made and changed by id while PostgreSQL is away, and its views have it all when it is back', async () => {
  await using postgres = await ownPostgres([ticketService]);
  await using app = await startService(TicketModule, { postgres });
  const before = await app.call(createTicket, { title: 'Before' }, approved);

  await postgres.kill();
  const during = await app.call(createTicket, { title: 'During' }, approved);
  expect(during).toMatchObject({ key: 'T-2' });
  const moved = await app.call(updateTicket, { ticket_id: before.ticket_id, status: 'wip' }, approved);
  expect(moved).toMatchObject({ status_applied: true });
  expect(await app.call(closeTicket, { ticket_id: during.ticket_id }, approved)).toMatchObject({ status: 'done' });
  for (const read of [
    () => app.call(listTickets, {}),
    () => app.call(getTicket, { ticket_id: before.ticket_id }),
    () => app.call(closeTicket, { ticket_id: 'T-9' }, approved),
  ]) {
    const error = await read().then(
      () => null,
      (error: { kind: string; message: string }) => error,
    );
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(error?.message).not.toMatch(/ECONN|select|127\.0\.0\.1/);
  }

  await postgres.start();
  await eventually(async () => {
    const { tickets } = await app.call(listTickets, {});
    const seen = tickets.map(({ key, status }) => `${key} ${status}`).toSorted();
    expect(seen).toEqual(['T-1 inProgress', 'T-2 done']);
  }, 60_000);
});
