import { randomUUID } from 'node:crypto';
import type { BusRequest } from '@cortex/contracts';
import { idsOf } from '@cortex/service-kit/ids';
import { eventually, runSource, startService, testHome, type CallOptions, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keys, KEYS_ID } from './keys/keys.decider.js';
import { TicketModule } from './ticket.module.js';
import { closeTicket } from './tools/close-ticket.tool.js';
import { createTicket } from './tools/create-ticket.tool.js';
import { getTicket } from './tools/get-ticket.tool.js';
import { listTickets } from './tools/list-tickets.tool.js';
import { updateTicket } from './tools/update-ticket.tool.js';

/** Two instances share the calls, as two replicas do: what one decides, the other finds in the log alone. */
let app: RunningService;
let other: RunningService;
beforeAll(async () => {
  app = await startService(TicketModule);
  other = await startService(TicketModule, { nats: app.nats, postgres: app.postgres });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const caller = 'c'.repeat(64);
const approved = (workspace: string, more: CallOptions = {}): CallOptions => ({
  approval: { via: 'mode' },
  workspace,
  caller,
  deadlineMs: 20_000,
  ...more,
});
const many = <T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n)));
/** As a client does with a key: again until there is an answer. */
const insist = <T>(call: () => Promise<T>): Promise<T> => eventually(call, 60_000);

async function allOf(workspace: string) {
  const all = [];
  let cursor: string | undefined;
  do {
    const page = await app.call(listTickets, { limit: 500, ...(cursor && { cursor }) }, { workspace });
    all.push(...page.tickets);
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return all;
}

describe('two replicas', () => {
  it('who create at once never give two tickets the same key, and leave no number out', async () => {
    const made = await many(40, (n) =>
      insist(() => app.call(createTicket, { title: `One ${n}` }, approved('race', { key: `race-${n}` }))),
    );
    const numbers = made.map(({ key }) => Number(key.slice(2))).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    expect(new Set(made.map(({ ticket_id }) => ticket_id)).size).toBe(40);
  });

  it('who write to one ticket at once lose no change of each other', async () => {
    const { ticket_id } = await app.call(createTicket, { title: 'One' }, approved('writers'));
    await many(30, (n) =>
      insist(() => app.call(updateTicket, { ticket_id, add_labels: [`l${n}`] }, approved('writers'))),
    );
    const whole = await app.call(getTicket, { ticket_id }, { workspace: 'writers' });
    expect(whole.labels?.toSorted()).toEqual(Array.from({ length: 30 }, (_, n) => `l${n}`).toSorted());
    expect(whole.version).toBe(31);
  });

  it('who close one ticket at once close it once, with the output of the first', async () => {
    const { ticket_id } = await app.call(createTicket, { title: 'One' }, approved('closers'));
    const closed = await many(10, async (n) => ({
      n,
      ...(await insist(() => app.call(closeTicket, { ticket_id, output: { n } }, approved('closers')))),
    }));
    const first = closed.filter((answer) => answer.already_terminal === undefined);
    expect(first).toHaveLength(1);
    expect(await app.call(getTicket, { ticket_id }, { workspace: 'closers' })).toMatchObject({
      status: 'done',
      output: { n: first[0]!.n },
      version: 2,
    });
  });

  it('of whom one moves and one closes leave a ticket that is done', async () => {
    const { ticket_id } = await app.call(createTicket, { title: 'One' }, approved('mixed'));
    await many(10, (n) =>
      insist<unknown>(() =>
        n % 2
          ? app.call(closeTicket, { ticket_id }, approved('mixed'))
          : app.call(updateTicket, { ticket_id, status: n % 4 ? 'blocked' : 'wip' }, approved('mixed')),
      ),
    );
    expect(await app.call(getTicket, { ticket_id }, { workspace: 'mixed' })).toMatchObject({ status: 'done' });
  });
});

describe('a call with a key', () => {
  it('makes one ticket, however often it comes', async () => {
    const options = approved('keyed', { key: 'k1' });
    const [first, ...rest] = await many(5, () => insist(() => app.call(createTicket, { title: 'One' }, options)));
    for (const one of rest) expect(one).toEqual(first);
    expect(await app.call(listTickets, {}, { workspace: 'keyed' })).toMatchObject({ count: 1, tickets: [first] });
    expect(await app.call(createTicket, { title: 'Two' }, approved('keyed'))).toMatchObject({ key: 'T-2' });
  });

  /** What the first try of a call leaves when its process dies behind the first commit; the id of its ticket. */
  async function cutOff(key: string, workspace_id: string): Promise<string> {
    const ids = idsOf({ idempotency_key: key, caller, workspace_id } as BusRequest, 'create_ticket');
    const ticket_id = ids.next();
    await reserve(workspace_id, ticket_id, ids.commit());
    return ticket_id;
  }
  const reserve = (workspace: string, ticket_id: string, commitId: string) =>
    app.host.store.execute(
      keys,
      workspace,
      KEYS_ID,
      { type: 'ReserveKey', ticket_id },
      {
        commitId,
        at: new Date().toISOString(),
        actor: { kind: 'user', id: 'per_1' },
        correlation_id: 'call',
        causation_id: 'call',
      },
    );

  it('that died between the number and its ticket finds the number that it had', async () => {
    const ticket_id = await cutOff('cut', 'cut');
    expect(await app.call(createTicket, { title: 'Between' }, approved('cut'))).toMatchObject({ key: 'T-2' });
    const again = await app.call(createTicket, { title: 'One' }, approved('cut', { key: 'cut' }));
    expect(again).toMatchObject({ ticket_id, key: 'T-1', title: 'One' });
    expect(await app.call(createTicket, { title: 'Behind' }, approved('cut'))).toMatchObject({ key: 'T-3' });
  });

  it('finds it too behind more others than are remembered, as long as the log knows the commit', async () => {
    const ticket_id = await cutOff('far', 'far');
    for (let n = 0; n < 101; n++) await reserve('far', randomUUID(), randomUUID());
    const again = await app.call(createTicket, { title: 'One' }, approved('far', { key: 'far' }));
    expect(again).toMatchObject({ ticket_id, key: 'T-1' });
    expect(await app.call(createTicket, { title: 'Behind' }, approved('far'))).toMatchObject({ key: 'T-103' });
  });
});

it('a replica that is killed -9 under load, again and again, loses and doubles no ticket', async () => {
  await using home = await testHome({
    bus: (user) => app.nats.passwordOf(user),
    database: (role) => app.postgres.passwordOf(role),
  });
  const env = {
    CORTEX_HOME: home.dir,
    CORTEX_NATS_URL: app.nats.url,
    CORTEX_DATABASE_URL: app.postgres.url,
    CORTEX_OPS_PORT: '0',
  };
  const replica = async () => {
    const started = runSource(new URL('main.ts', import.meta.url), env);
    await eventually(() => started.messages.length === 2);
    return started;
  };
  let answered = 0;
  let kills = 0;
  const working = many(6, async (worker) => {
    const made = [];
    for (let n = 0; kills < 2; n++) {
      const title = `${worker}-${n}`;
      const options = approved('killed', { key: title, deadlineMs: 1_000 });
      const ticket = await insist(() => app.call(createTicket, { title }, options));
      await insist(() => app.call(closeTicket, { ticket_id: ticket.ticket_id }, options));
      made.push(ticket);
      answered++;
    }
    return made;
  });
  for (; kills < 2; kills++) {
    await using victim = await replica();
    const before = answered;
    await eventually(() => answered > before + 10, 60_000);
    victim.child.kill('SIGKILL');
  }
  const made = (await working).flat();
  const keysGiven = new Set(made.map(({ key }) => key));
  expect(keysGiven.size).toBe(made.length);
  const tickets = await allOf('killed');
  expect(tickets.map(({ title }) => title).toSorted()).toEqual(made.map(({ title }) => title).toSorted());
  expect(new Set(tickets.map(({ key }) => key))).toEqual(keysGiven);
  expect(new Set(tickets.map(({ status }) => status))).toEqual(new Set(['done']));
});
