import { failedPrecondition, invalidArgument, notFound, unavailable } from '@cortex/contracts';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ADMIN_SECRET, operator } from '../testing/operator.js';
import { ticketDesk } from '../testing/ticket-desk.js';

const desk = ticketDesk();
let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge({ beside: [desk.service], env: { CORTEX_ADMIN_SECRET: ADMIN_SECRET } });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
});
afterEach(() => {
  desk.asked.length = 0;
  for (const name of Object.keys(desk.answers)) delete desk.answers[name];
});

it('lists everybody’s tickets, as an operator and with the filters of the query', async () => {
  const page = { tickets: [{ id: 'gap_1' }], count: 1, next_cursor: 'c2' };
  desk.answers['list_gaps'] = () => page;
  const filters = 'status=open&severity=blocking&contextApp=demo&limit=5&cursor=c1';
  expect(await operator(edge, 'GET', `tickets?${filters}`)).toEqual({ status: 200, body: page });
  expect(desk.asked).toMatchObject([
    {
      args: { mine: false, status: 'open', severity: 'blocking', contextApp: 'demo', limit: 5, cursor: 'c1' },
      caller: { type: 'system', roles: ['operator'] },
      person: undefined,
    },
  ]);
  await operator(edge, 'GET', 'tickets?status=');
  expect(desk.asked[1]?.args).toEqual({ mine: false });
});

it('shows and triages one by its id', async () => {
  desk.answers['list_gaps'] = ({ args }) => ({ tickets: [{ id: args.ticketId }], count: 1, next_cursor: null });
  desk.answers['triage_gap'] = ({ args }) => args;
  expect(await operator(edge, 'GET', 'tickets/gap_1')).toEqual({ status: 200, body: { id: 'gap_1' } });
  const change = { status: 'resolved', triageNote: null, resolutionNote: 'x', resolvedPrUrl: 'https://a.example/1' };
  expect(await operator(edge, 'PATCH', 'tickets/gap_1', change)).toEqual({
    status: 200,
    body: { ...change, ticketId: 'gap_1' },
  });
  expect(desk.asked.at(-1)?.caller.roles).toEqual(['operator']);
});

it.each([
  [400, invalidArgument('status', 'is none', 'use one')],
  [404, notFound('ticketId', 'is unknown', 'list them')],
  [409, failedPrecondition('status', 'cannot go', 'try x', { details: { allowed: ['x'] } })],
  [503, unavailable('ticket', 'is away', 'try again')],
])('answers %d as the ticket service says', async (status, refusal) => {
  desk.answers['triage_gap'] = () => {
    throw refusal;
  };
  const { body, ...answer } = await operator(edge, 'PATCH', 'tickets/gap_1', { status: 'x' });
  expect(answer.status).toBe(status);
  expect(body).toMatchObject({ error: refusal.kind, message: refusal.message });
  if (status === 409) expect(body.allowed).toEqual(['x']);
});

it.each([
  ['GET', 'tickets?state=open', undefined, 'no filter'],
  ['PATCH', 'tickets/gap_1', [], 'no object'],
  ['PATCH', 'tickets/gap_1', { ticketId: 'gap_2' }, 'in the path'],
])('refuses %s %s before anybody is asked', async (method, path, body, why) => {
  expect(await operator(edge, method, path, body)).toMatchObject({
    status: 400,
    body: { error: 'invalid_argument', message: expect.stringContaining(why) },
  });
  expect(desk.asked).toEqual([]);
});

it('is behind the secret of operators, and knows no other method', async () => {
  const bare = (path: string, method: string) => fetch(`${edge.origin}/api/admin/${path}`, { method });
  expect((await bare('tickets', 'GET')).status).toBe(401);
  expect((await bare('tickets/gap_1', 'PATCH')).status).toBe(401);
  expect((await operator(edge, 'POST', 'tickets', {})).status).toBe(405);
  expect(desk.asked).toEqual([]);
});
