import { randomUUID } from 'node:crypto';
import { auditService } from '@cortex/audit';
import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, EVENTS_STREAM, PROVISIONER, subjects } from '@cortex/contracts';
import {
  natsFixture,
  postgresFixture,
  startService,
  writeEvents,
  type NatsFixture,
  type PostgresFixture,
  type RunningService,
} from '@cortex/testing';
import { ticketService } from '@cortex/ticket';
import { createTicket } from '@cortex/ticket/tools/create-ticket.tool';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { loadDefinitions } from '../provision.js';
import {
  answersAreInTheLogOnce,
  everyCallHasItsEnd,
  noConsumerIsStuck,
  nothingLeftTheLog,
  viewsEqualARebuild,
  type Checked,
} from './checks.js';

const CALL = {
  at: '2026-01-05T10:00:00.000Z',
  tool: 'current_time',
  service: 'mcp-edge',
  target_app: 'gateway',
  caller_sub: 'owner',
  client_id: 'cli',
  params_hash: null,
  args_bytes: 2,
  transport: 'http',
  era: 'modern',
  deadline_ms: 60_000,
};

let nats: NatsFixture;
let postgres: PostgresFixture;
let checked: Checked;
let edge: Bus;
let ticketBus: Bus;
beforeAll(async () => {
  const services = await loadDefinitions();
  nats = await natsFixture({ services });
  postgres = await postgresFixture(services);
  const bus = await nats.busAs(PROVISIONER);
  checked = { admin: (work) => work({ bus, adminUrl: postgres.adminUrl }) };
  [edge, ticketBus] = await Promise.all([nats.busAs('mcp-edge'), nats.busAs('ticket')]);
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

const tickets = () => startService(ticketService, { nats, postgres });
const create = (service: RunningService, title: string) =>
  service.call(createTicket, { title }, { approval: { via: 'mode' } });
/** A change that no service made. */
const change = (ticket_id: string, title: string) =>
  writeEvents(ticketBus, 'ticket.ticket', 'w1', ticket_id, [
    { type: 'TicketDetailsUpdated', data: { ticket_id, changes: { title } } },
  ]);
const record = (type: 'ToolCallStarted' | 'ToolCallFinished', call_id: string) => {
  const end = { finished_at: CALL.at, outcome: 'succeeded', classes: [], duration_ms: 1, result_bytes: 2 };
  const body = { type, ...CALL, call_id, ...(type === 'ToolCallFinished' && end) };
  return edge.publishAcked(subjects.call(CALL.service, CALL.tool), JSON.stringify(body));
};
const sql = (text: string) => postgres.pool().query(text);

// First, while nothing is in the log that has no reader.
describe('a consumer', () => {
  it('that has read all is no problem, and one that stands still is named until its service comes', async () => {
    let ticket_id: string;
    {
      await using service = await tickets();
      ({ ticket_id } = await create(service, 'read'));
      expect(await noConsumerIsStuck(checked)).toEqual([]);
    }
    await change(ticket_id, 'unread');
    expect(await noConsumerIsStuck(checked, 0)).toEqual([
      'view tickets_v1 is 1 behind',
      'consumer tickets_v1 has 1 to read and 0 to acknowledge',
    ]);
    const later = noConsumerIsStuck(checked);
    await using _service = await tickets();
    expect(await later).toEqual([]);
  });

  it('that took a message and did not acknowledge it is named; if it did and the view lacks it, the view is lost', async () => {
    await change(randomUUID(), 'taken');
    const bus = await nats.busAs(PROVISIONER);
    const consumer = await jetstream(bus.nc).consumers.get(EVENTS_STREAM, 'tickets_v1');
    const taken = await consumer.next({ expires: 5_000 });
    expect(await noConsumerIsStuck(checked, 0)).toEqual([
      'view tickets_v1 is 1 behind',
      'consumer tickets_v1 has 0 to read and 1 to acknowledge',
    ]);
    await taken?.ackAck();
    expect(await noConsumerIsStuck(checked, 0)).toEqual(['view tickets_v1 is lost']);
  });

  it('that is not there is missed, also that of a reactor', async () => {
    const bus = await nats.busAs(PROVISIONER);
    await bus.request(`$JS.API.CONSUMER.DELETE.${EVENTS_STREAM}.waitpoint_wakes_v1`, '', { timeoutMs: 5_000 });
    expect(await noConsumerIsStuck(checked, 0)).toContain('consumer waitpoint_wakes_v1 is not there');
  });
});

describe('an answer', () => {
  it('that is in the log once, as a new ticket or as a change of one, is no problem', async () => {
    let ticket_id: string;
    {
      await using service = await tickets();
      ({ ticket_id } = await create(service, 'made'));
    }
    await change(ticket_id, 'changed');
    const told = [
      { tool: 'create_ticket', ticket_id, title: 'made' },
      { tool: 'update_ticket', ticket_id, title: 'changed' },
    ];
    expect(await answersAreInTheLogOnce(checked, told)).toEqual([]);
  });

  it('that is not in the log is found, though its ticket is', async () => {
    await change('tkt_1', 'kept');
    const told = [
      { tool: 'update_ticket', ticket_id: 'tkt_1', title: 'kept' },
      { tool: 'update_ticket', ticket_id: 'tkt_1', title: 'lost' },
    ];
    expect(await answersAreInTheLogOnce(checked, told)).toEqual([
      'update_ticket of tkt_1 (lost) was answered and is not in the log',
    ]);
  });

  it('that is in the log twice is found, whether or not its caller was told', async () => {
    await change('tkt_2', 'done twice');
    await change('tkt_2', 'done twice');
    expect(await answersAreInTheLogOnce(checked, [])).toEqual(['done twice is in the log 2 times']);
  });
});

describe('a view', () => {
  it('that a rebuild changes is found by its table, and after the rebuild it is good', async () => {
    const differences = () => viewsEqualARebuild(checked, [ticketService]);
    // What was written above has had no reader.
    await differences();
    expect(await differences()).toEqual([]);
    await sql(`update ticket.tickets set title = 'never given' where title = 'changed'`);
    const [problem, ...others] = await differences();
    expect(problem).toMatch(/^ticket\.tickets held \d+ [0-9a-f]{32} and a rebuild gives \d+ [0-9a-f]{32}$/);
    expect(others).toEqual([]);
    await sql(`delete from ticket.tickets where title = 'changed'`);
    expect(await differences()).toHaveLength(1);
  });
});

describe('a call', () => {
  it('that has both in the log, in either order, or no end in either place, is no problem', async () => {
    for (const [type, id] of [
      ['ToolCallStarted', 'ended'],
      ['ToolCallFinished', 'ended'],
      ['ToolCallFinished', 'late start'],
      ['ToolCallStarted', 'late start'],
      ['ToolCallStarted', 'cut off'],
    ] as const)
      await record(type, id);
    await viewsEqualARebuild(checked, [auditService]);
    expect(await everyCallHasItsEnd(checked)).toEqual([]);
  });

  it('that ended in the log and is shown open is found, and one that is shown ended and has no end', async () => {
    await sql(`update audit.tool_calls set outcome = null where id = 'ended'`);
    await sql(`update audit.tool_calls set outcome = 'succeeded' where id = 'cut off'`);
    expect(await everyCallHasItsEnd(checked)).toEqual([
      'call ended ended in the log, the trail shows it open',
      'call cut off has no end in the log, the trail shows one',
    ]);
    await sql(`delete from audit.tool_calls where id = 'cut off'`);
    expect(await everyCallHasItsEnd(checked)).toContain('call cut off has no end in the log, the trail shows one');
  });
});

// Last, since it takes away what the others read.
it('a message that has left the log is missed, the oldest as well as one in the middle', async () => {
  expect(await nothingLeftTheLog(checked)).toEqual([]);
  const { streams } = await jetstreamManager((await nats.busAs(PROVISIONER)).nc);
  await streams.deleteMessage(CALLS_STREAM, 3);
  await streams.purge(EVENTS_STREAM, { seq: 2 });
  expect(await nothingLeftTheLog(checked)).toEqual([
    expect.stringMatching(/^CORTEX_EVENTS holds \d+ messages of \d+, the first is 2$/),
    'CORTEX_CALLS holds 4 messages of 5, the first is 1',
  ]);
});
