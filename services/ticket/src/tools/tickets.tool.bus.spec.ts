import type { z } from 'zod';
import { eventually, startService, writeEvents, type CallOptions, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TicketModule } from '../ticket.module.js';
import { closeTicket } from './close-ticket.tool.js';
import { createTicket } from './create-ticket.tool.js';
import { getTicket } from './get-ticket.tool.js';
import { listTickets } from './list-tickets.tool.js';
import { updateTicket } from './update-ticket.tool.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(TicketModule);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const approved: CallOptions = { approval: { via: 'mode' } };
/** Every test has a workspace of its own. */
const inWorkspace = (workspace: string) => ({
  create: (args: z.input<typeof createTicket.input>, more: CallOptions = {}) =>
    app.call(createTicket, args, { ...approved, workspace, ...more }),
  update: (args: z.input<typeof updateTicket.input>) => app.call(updateTicket, args, { ...approved, workspace }),
  close: (args: z.input<typeof closeTicket.input>) => app.call(closeTicket, args, { ...approved, workspace }),
  get: (ticket_id: string) => app.call(getTicket, { ticket_id }, { workspace }),
  list: (args: z.input<typeof listTickets.input> = {}) => app.call(listTickets, args, { workspace }),
});

describe('a ticket', () => {
  it('is made, read by id and by key, and listed', async () => {
    const { create, get, list } = inWorkspace('made');
    const made = await create({ title: 'Fix login timeout', priority: 2 });
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
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
      version: 1,
    };
    expect(await get(made.ticket_id)).toEqual(whole);
    expect(await get('T-1')).toEqual(whole);
    expect(await list()).toEqual({ tickets: [made], count: 1, next_cursor: null });
  });

  it('keeps a description of the full length whole, in NFC, and a secret in its title out of the log', async () => {
    const { create, get } = inWorkspace('texts');
    const description = `e\u0301 password=kept-in-documents ${'😀'.repeat(65_000)}`;
    const made = await create({ title: 'rotate password=hunter2hunter2', description });
    expect(made.title).toBe('rotate password=[redacted:secret]');
    expect((await get(made.ticket_id)).description).toBe(description.normalize('NFC'));
  });

  it('is shown as it is now to a caller who did not write it, however far behind the view is', async () => {
    const { create } = inWorkspace('fresh');
    for (let n = 0; n < 20; n++) {
      const { ticket_id, key } = await create({ title: `One ${n}` });
      // Another caller: nothing tells this read of the write, which its view has not met yet.
      const seen = await app.call(getTicket, { ticket_id: n % 2 ? ticket_id : key }, { workspace: 'fresh', after: 0 });
      expect(seen).toMatchObject({ title: `One ${n}` });
    }
  });

  it('is updated field by field, and says what changed', async () => {
    const { create, update, get } = inWorkspace('updated');
    const { ticket_id } = await create({ title: 'One', description: 'a' });
    expect(await update({ ticket_id, status: 'in progress', add_labels: ['ui'], priority: 1 })).toEqual({
      ticket_id,
      updated: ['priority', 'labels', 'status'],
      status: 'inProgress',
      status_applied: true,
    });
    expect(await update({ ticket_id: 'T-1', description: '', labels: ['ui'] })).toEqual({
      ticket_id,
      updated: ['description'],
      status: 'inProgress',
      status_applied: false,
    });
    expect(await get(ticket_id)).toMatchObject({ version: 3, labels: ['ui'], description: '', priority: 'urgent' });
  });

  it('that cannot move there says so, and its other fields are applied', async () => {
    const { create, update } = inWorkspace('moves');
    const { ticket_id } = await create({ title: 'One' });
    expect(await update({ ticket_id, status: 'review', title: 'Two' })).toEqual({
      ticket_id,
      updated: ['title'],
      status: 'open',
      status_applied: false,
      status_note:
        'the ticket is open and cannot become inReview from there; allowed are inProgress, blocked, cancelled',
    });
    expect(await update({ ticket_id, status: 'todo' })).toMatchObject({ updated: [], status_applied: true });
  });

  it('is closed once, and an update of it moves it nowhere', async () => {
    const { create, update, close, get } = inWorkspace('closed');
    const { ticket_id } = await create({ title: 'One' });
    const output = { summary: 'fixed', url: 'https://me:secret@example.com', n: [1, null] };
    expect(await close({ ticket_id, output })).toEqual({ ticket_id, status: 'done' });
    expect(await close({ ticket_id, output: { other: true } })).toEqual({
      ticket_id,
      status: 'done',
      already_terminal: true,
    });
    expect(await update({ ticket_id, status: 'open' })).toMatchObject({
      updated: [],
      status: 'done',
      status_note: 'the ticket is done, which is final; make a new one with create_ticket',
    });
    expect(await update({ ticket_id, title: 'Renamed' })).toMatchObject({ updated: ['title'], status: 'done' });
    expect(await get('T-1')).toMatchObject({ status: 'done', output, title: 'Renamed', version: 3 });
  });

  it('is failed by an update with the error text that goes with it', async () => {
    const { create, update, close, get } = inWorkspace('failed');
    const { ticket_id } = await create({ title: 'One' });
    await update({ ticket_id, status: 'wip' });
    await update({ ticket_id, status: 'errored' });
    expect(await get(ticket_id)).toMatchObject({ status: 'failed', error_message: 'Failed' });
    expect(await close({ ticket_id })).toEqual({ ticket_id, status: 'failed', already_terminal: true });
  });

  it('is assigned to an agent of its workspace alone', async () => {
    const team = await app.nats.busAs('team');
    await writeEvents(team, 'team.agent', 'assigned', 'ag1', [{ type: 'AgentRegistered', data: { name: 'Ada' } }]);
    await writeEvents(team, 'team.agent', 'elsewhere', 'ag2', [{ type: 'AgentRegistered', data: { name: 'Bob' } }]);
    const { create, list, get } = inWorkspace('assigned');
    const made = await eventually(() => create({ title: 'One', assignee: 'ag1' }));
    expect(made).toMatchObject({ assignee: 'ag1' });
    expect(await get(made.ticket_id)).toMatchObject({ assignee: 'ag1', version: 1 });
    expect(await list({ assignee: 'ag1' })).toMatchObject({ count: 1 });
    expect(await list({ assignee: 'ag3' })).toMatchObject({ count: 0 });
    await eventually(() =>
      expect(create({ title: 'Two', assignee: 'ag2' })).rejects.toMatchObject({
        kind: 'permission_denied',
        reason: 'wrong_workspace',
        message: 'assignee belongs to a different workspace; use an id of this one',
      }),
    );
    await expect(create({ title: 'Two', assignee: 'ag3' })).rejects.toMatchObject({
      kind: 'not_found',
      field: 'assignee',
    });
    expect(await create({ title: 'Two' })).toMatchObject({ key: 'T-2' });
  });
});

describe('bad input', () => {
  it.each([
    ['title is missing; give a text', {}],
    ['title is blank; give some text', { title: '' }],
    ['title is blank; give some text', { title: ' \t' }],
    ['title holds a NUL character; remove it', { title: 'a\0b' }],
    ['title has more than 200 characters; shorten it', { title: 'x'.repeat(201) }],
    ['description has more than 65536 characters; shorten it', { title: 'ok', description: 'x'.repeat(65_537) }],
    ['priority must be at most 4; use a smaller one', { title: 'ok', priority: 5 }],
    ['priority must be at least 0; use a larger one', { title: 'ok', priority: -1 }],
    ['priority must be a number; it is a text', { title: 'ok', priority: 'high' }],
    ['assignee must be 1 to 64 of A-Z a-z 0-9 _ - :; see its description', { title: 'ok', assignee: 'a.b' }],
    ['asignee is no known argument; did you mean assignee?', { title: 'ok', asignee: 'a' }],
  ])('makes create_ticket say "%s" and writes nothing', async (message, args) => {
    const { head } = await app.send('create_ticket', args, { ...approved, workspace: 'bad' });
    expect(head).toMatchObject({ ok: false, error: { kind: 'invalid_argument', message } });
    expect(await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.bad.keys.all')).toBeNull();
  });

  it('a title of 200 emoji fits', async () => {
    const title = '😀'.repeat(200);
    expect(await inWorkspace('emoji').create({ title })).toMatchObject({ title });
  });

  it.each([
    ['update_ticket', 'arguments change nothing; give at least one of status, title', {}],
    ['update_ticket', 'status is no status; use backlog, open (todo, ready', { status: 'opened' }],
    ['update_ticket', 'title is blank', { title: '' }],
    ['update_ticket', 'labels.0 has more than 64 characters', { labels: ['x'.repeat(65)] }],
    ['update_ticket', 'labels.0 is blank', { labels: [''] }],
    ['update_ticket', 'labels has more than 50 items', { labels: Array(51).fill('a') }],
    ['close_ticket', 'output holds a NUL character', { output: { a: ['\0'] } }],
    ['close_ticket', 'output has more than 262144 bytes', { output: { a: 'x'.repeat(262_144) } }],
    ['close_ticket', 'output must be an object; it is a text', { output: 'done' }],
  ])('makes %s say "%s" and changes nothing', async (tool, message, args) => {
    const workspace = `bad-${tool}`;
    const { create, list, get } = inWorkspace(workspace);
    if ((await list()).count === 0) await create({ title: 'One' });
    const { head } = await app.send(tool, { ticket_id: 'T-1', ...args }, { ...approved, workspace });
    const error = { kind: 'invalid_argument', message: expect.stringContaining(message) };
    expect(head).toMatchObject({ ok: false, error });
    expect(await get('T-1')).toMatchObject({ version: 1 });
  });

  it('of a list is refused by name', async () => {
    const { list } = inWorkspace('bad');
    await expect(list({ status: 'nope' })).rejects.toMatchObject({ kind: 'invalid_argument', field: 'status' });
    await expect(list({ cursor: 'nope' })).rejects.toMatchObject({ kind: 'invalid_argument', field: 'cursor' });
  });

  it.each(['create_ticket', 'update_ticket', 'close_ticket'])('%s without an approval is refused', async (tool) => {
    const { head } = await app.send(tool, { title: 'x', ticket_id: 'x' }, { workspace: 'unapproved' });
    expect(head).toMatchObject({ ok: false, error: { kind: 'failed_precondition', reason: 'approval_required' } });
  });
});

describe('a ticket of another workspace', () => {
  it('is refused aloud by id, unknown by key, and changed by nobody', async () => {
    const { ticket_id } = await inWorkspace('theirs').create({ title: 'Secret plan' });
    const mine = inWorkspace('mine');
    const calls = [
      () => mine.get(ticket_id),
      () => mine.update({ ticket_id, title: 'Taken' }),
      () => mine.close({ ticket_id }),
      () => app.ask('query', 'approval_payload', { ticket_id }, { workspace: 'mine', tool: 'close_ticket' }),
    ];
    for (const call of calls) {
      const error = await call().then(
        () => undefined,
        (error: { toWire(): object }) => error.toWire(),
      );
      expect(error).toEqual({
        kind: 'permission_denied',
        reason: 'wrong_workspace',
        field: 'ticket_id',
        message: 'ticket_id belongs to a different workspace; use an id of this one',
        retryable: false,
      });
    }
    await expect(mine.get('T-1')).rejects.toMatchObject({ kind: 'not_found', field: 'ticket_id' });
    await expect(mine.close({ ticket_id: 'nobody' })).rejects.toMatchObject({ kind: 'not_found' });
    expect(await mine.list()).toMatchObject({ tickets: [] });
    expect(await inWorkspace('theirs').get('T-1')).toMatchObject({ title: 'Secret plan', version: 1 });
  });
});

it('a query that forgets the workspace sees rows of its own alone', async () => {
  await inWorkspace('walled').create({ title: 'Mine' });
  await inWorkspace('beyond').create({ title: 'Theirs' });
  await inWorkspace('beyond').list();
  const client = await app.postgres.pool('ticket').connect();
  try {
    await client.query(`begin; select set_config('cortex.workspace', 'walled', true)`);
    const { rows } = await client.query('select title from ticket.tickets');
    expect(rows).toEqual([{ title: 'Mine' }]);
    await expect(client.query(`update ticket.tickets set title = 'x'`)).rejects.toThrow('permission denied');
  } finally {
    await client.query('rollback');
    client.release();
  }
});

describe('a list', () => {
  it('is newest change first, by any word for a status, page by page', async () => {
    const { create, update, list } = inWorkspace('listed');
    for (const title of ['a', 'b', 'c', 'd', 'e']) await create({ title });
    await update({ ticket_id: 'T-2', status: 'doing' });
    await update({ ticket_id: 'T-4', status: 'wip' });
    const titles = ({ tickets }: { tickets: { title: string }[] }) => tickets.map(({ title }) => title);
    expect(titles(await list())).toEqual(['d', 'b', 'e', 'c', 'a']);
    expect(titles(await list({ status: 'IN-PROGRESS' }))).toEqual(['d', 'b']);
    const first = await list({ limit: 2 });
    expect(first).toMatchObject({ count: 2, next_cursor: expect.any(String) });
    await update({ ticket_id: 'T-1', title: 'a2' });
    const rest = await list({ cursor: first.next_cursor!, limit: 9 });
    expect([...titles(first), ...titles(rest)]).toEqual(['d', 'b', 'e', 'c']);
  });
});

describe('what a person is asked', () => {
  const payload = (tool: string, args: Record<string, unknown>) =>
    app.ask<{ detail: string }>('query', 'approval_payload', args, { workspace: 'asked', tool });

  it('names title, priority and assignee of a new ticket', async () => {
    expect(await payload('create_ticket', { title: 'Ship it', priority: 1 })).toEqual({
      title: 'Create ticket',
      detail: 'Title: "Ship it"\nPriority: urgent\nAssignee: nobody',
    });
  });

  it('T42 holds no line that the caller wrote', async () => {
    const { detail } = await payload('create_ticket', {
      title: 'Ship it"\nPriority: none\nAssignee: nobody\r\u001b[2K',
    });
    expect(detail).toBe(
      'Title: "Ship it\\"\\nPriority: none\\nAssignee: nobody\\r\\u001b[2K"\nPriority: none\nAssignee: nobody',
    );
  });

  it('names the ticket and each field with its new value, and says where it is cut', async () => {
    await inWorkspace('asked').create({ title: 'Ship it' });
    const description = 'x'.repeat(501);
    const update = { ticket_id: 'T-1', status: 'todo', labels: [], add_labels: ['a', 'b, c'], description };
    expect(await payload('update_ticket', update)).toEqual({
      title: 'Update ticket',
      detail: [
        'Ticket: T-1',
        'Status: open',
        `Description: "${'x'.repeat(500)}"… (501 characters in all)`,
        'Labels: none',
        'Labels added: "a", "b, c"',
      ].join('\n'),
    });
    expect(await payload('close_ticket', { ticket_id: 'T-1' })).toEqual({
      title: 'Close ticket',
      detail: 'T-1: "Ship it"',
    });
  });

  it('about a ticket that is not there is refused before anybody is asked', async () => {
    await expect(payload('close_ticket', { ticket_id: 'T-9' })).rejects.toMatchObject({ kind: 'not_found' });
    await expect(payload('create_ticket', { title: 'x', assignee: 'ag9' })).rejects.toMatchObject({
      kind: 'not_found',
    });
  });

  it('changes nothing', async () => {
    await payload('create_ticket', { title: 'Never made' });
    expect(await inWorkspace('asked').list()).toMatchObject({ count: 1 });
  });
});
