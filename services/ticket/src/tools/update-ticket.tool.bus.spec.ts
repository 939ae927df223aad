import type { Bus } from '@cortex/bus';
import { TICKET_STATUSES, type TicketEvent, type TicketStatus } from '@cortex/contracts/ticket';
import { startService, writeEvents, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TicketModule } from '../ticket.module.js';
import { getTicket } from './get-ticket.tool.js';
import { updateTicket } from './update-ticket.tool.js';

let app: RunningService;
let log: Bus;
let owner: ReturnType<RunningService['postgres']['pool']>;
beforeAll(async () => {
  app = await startService(TicketModule);
  log = await app.nats.busAs('ticket');
  owner = app.postgres.pool();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

/** A ticket that is in a state already, also in one that no tool of today leads to. */
async function ticketIn(status: TicketStatus, ticket_id: string): Promise<number> {
  const created: TicketEvent = {
    type: 'TicketCreated',
    data: {
      ticket_id,
      key: ticket_id,
      provider: 'local',
      title: 'One',
      description: null,
      priority: 0,
      labels: [],
      status,
      assignee_id: null,
      team_id: null,
      parent_ticket_id: null,
      space_id: null,
      origin_kind: 'manual',
      delegated_by_agent_id: null,
      delegation_depth: 0,
      delegation_root_ticket_id: null,
      pipeline_run_id: null,
      pipeline_step_id: null,
    },
  };
  return writeEvents(log, 'ticket.ticket', 'w1', ticket_id, [created]);
}

/** As the product's table has it, and every state to itself. */
const MOVES: Record<TicketStatus, TicketStatus[]> = {
  backlog: ['backlog', 'open', 'cancelled'],
  open: ['open', 'inProgress', 'blocked', 'cancelled'],
  inProgress: ['inProgress', 'blocked', 'inReview', 'done', 'failed', 'cancelled'],
  blocked: ['blocked', 'inProgress', 'cancelled'],
  inReview: ['inReview', 'inProgress', 'done', 'failed', 'cancelled'],
  done: ['done'],
  failed: ['failed'],
  cancelled: ['cancelled'],
};
/** The time that is set on entering. */
const ENTERED: Partial<Record<TicketStatus, string[]>> = {
  inProgress: ['started_at'],
  blocked: ['blocked_at'],
  done: ['completed_at', 'finished_at'],
  failed: ['finished_at'],
  cancelled: ['cancelled_at', 'finished_at'],
};

describe.each(TICKET_STATUSES)('a ticket that is %s', (from) => {
  it.each(TICKET_STATUSES)('asked to be %s', async (to) => {
    const ticket_id = `${from}-${to}`;
    const after = await ticketIn(from, ticket_id);
    const options = { approval: { via: 'mode' as const }, after };
    const answer = await app.call(updateTicket, { ticket_id, status: to, title: 'Two' }, options);
    const legal = MOVES[from].includes(to);
    expect(answer).toEqual({
      ticket_id,
      updated: legal && to !== from ? ['title', 'status'] : ['title'],
      status: legal ? to : from,
      status_applied: legal,
      ...(!legal && { status_note: expect.stringContaining(`the ticket is ${from}`) }),
    });
    expect(await app.call(getTicket, { ticket_id })).toMatchObject({
      status: legal ? to : from,
      title: 'Two',
      version: 2,
      error_message: legal && to === 'failed' && from !== to ? 'Failed' : null,
    });
    const row = await owner.query('select * from ticket.tickets where ticket_id = $1', [ticket_id]);
    const times = ['started_at', 'blocked_at', 'completed_at', 'cancelled_at', 'finished_at'];
    const set = times.filter((time) => row.rows[0][time] !== null);
    expect(set).toEqual(legal && to !== from ? (ENTERED[to] ?? []) : []);
  });
});
