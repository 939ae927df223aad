import { startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TicketModule } from '../ticket.module.js';
import { createTicket } from './create-ticket.tool.js';
import { getTicket } from './get-ticket.tool.js';
import { listTickets } from './list-tickets.tool.js';

const approval = { via: 'mode' } as const;

let app: RunningService;
beforeAll(async () => {
  app = await startService(TicketModule);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

describe('a ticket', () => {
  it('is made, read by id and by key, and listed', async () => {
    const made = await app.call(createTicket, { title: 'Fix login timeout', priority: 2 }, { approval });
    expect(made).toEqual({
      ticket_id: expect.any(String),
      key: 'T-1',
      title: 'Fix login timeout',
      status: 'open',
      priority: 'high',
      provider: 'local',
    });
    const whole = {
      ...made,
      description: null,
      collaborators: [],
      linked_pr_ids: [],
      parent_ticket_id: null,
      space_id: null,
      origin_kind: 'manual',
      error_message: null,
      output: null,
      version: 1,
    };
    expect(await app.call(getTicket, { ticket_id: made.ticket_id })).toMatchObject(whole);
    expect(await app.call(getTicket, { ticket_id: 'T-1' })).toMatchObject(whole);
    expect(await app.call(listTickets, {})).toEqual({ tickets: [made], count: 1, next_cursor: null });
  });
});
