import { SCOPES } from '@cortex/contracts';
import { testHook, type TestHook } from '@cortex/ticket/testing/hook';
import { ticketService } from '@cortex/ticket';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runningHome, type RunningHome } from '../testing/running-home.js';

const SECRET = 'the-secret-of-operators';
let hook: TestHook;
let home: RunningHome;
beforeAll(async () => {
  hook = await testHook();
  home = await runningHome({
    beside: [ticketService],
    env: { CORTEX_ADMIN_SECRET: SECRET, CORTEX_TICKET_WEBHOOK_URL: hook.url },
  });
  process.env['CORTEX_ADMIN_SECRET'] = SECRET;
});
afterAll(async () => {
  delete process.env['CORTEX_ADMIN_SECRET'];
  await home[Symbol.asyncDispose]();
  await hook[Symbol.asyncDispose]();
});
const gaps = (...args: string[]) => home.cortex('gaps', ...args);
const call = async (tool: string, args: object, token?: string) =>
  (await home.edge.call(tool, args, token === undefined ? {} : { token })).body.result.structuredContent;

it('what an agent could not do comes to the operator, and what becomes of it back to the agent', async () => {
  const email = 'ada@example.com';
  const ada = await home.edge.token({ sub: 'ada', email, scope: SCOPES.read });
  const wish = { whatIWanted: 'export a board\nas CSV', userIntent: 'the month’s report', severity: 'blocking' };
  const filed = await call('report_missing_capability', wish, ada);
  expect(filed).toMatchObject({ backend: 'cortex', deduplicated: false, adminNotified: true });
  const { ticketId } = filed;
  expect(hook.told.map(({ json }) => json)).toMatchObject([{ ticketId, agent: email }]);
  // At once, and nobody else's.
  expect(await call('list_cortex_tickets', {}, ada)).toMatchObject({
    count: 1,
    tickets: [{ id: ticketId, status: 'open' }],
  });
  expect(await call('list_cortex_tickets', {})).toMatchObject({ count: 0, sources: { cortex_local: { ok: true } } });
  expect(await call('report_missing_capability', wish, ada)).toMatchObject({ ticketId, deduplicated: true });

  expect((await gaps('list', '--status', 'open')).out).toMatch(
    new RegExp(`^ticket .*\\n${ticketId}  \\S+Z  open    blocking  -    export a board as CSV\\n$`),
  );
  const shown = await gaps('show', ticketId);
  expect(shown.out).toContain('wanted      export a board\n            as CSV\n');
  expect(shown.out).not.toContain(email);
  const planned = await gaps('triage', ticketId, '--status', 'planned', '--note', 'next month');
  expect(planned).toMatchObject({ code: 0, out: expect.stringContaining('triage      next month') });
  expect((await gaps('triage', ticketId, '--note', '')).out).not.toContain('next month');
  const done = [
    '--status',
    'resolved',
    '--resolution',
    'see export_board',
    '--pr',
    'https://example.com/pr/7',
    '--json',
  ];
  expect(JSON.parse((await gaps('triage', ticketId, ...done)).out)).toMatchObject({ status: 'resolved' });
  expect(await call('list_cortex_tickets', { status: 'resolved' }, ada)).toMatchObject({
    tickets: [{ resolutionNote: 'see export_board', resolvedPrUrl: 'https://example.com/pr/7' }],
  });
  expect(hook.told).toHaveLength(1);
});

it('lists in pages', async () => {
  for (const n of [1, 2, 3])
    await call('report_missing_capability', { whatIWanted: `page ${n}`, userIntent: 'x', severity: 'nice_to_have' });
  const first = await gaps('list', '--severity', 'nice_to_have', '--limit', '2', '--json');
  const { tickets, next_cursor } = JSON.parse(first.out) as { tickets: { whatIWanted: string }[]; next_cursor: string };
  expect(tickets.map(({ whatIWanted }) => whatIWanted)).toEqual(['page 3', 'page 2']);
  const more = await gaps('list', '--severity', 'nice_to_have', '--limit', '2', '--cursor', next_cursor);
  expect(more.out).toContain('page 1');
  expect((await gaps('list', '--severity', 'nice_to_have', '--limit', '2')).told).toContain('--cursor ');
  expect((await gaps('list', '--app', 'nowhere')).told).toContain('there are no such tickets');
});

it('T88 shows what a ticket does to a terminal instead of doing it', async () => {
  const whatIWanted = 'clear\u001b[2J the\u202e screen';
  const { ticketId } = await call('report_missing_capability', {
    whatIWanted,
    userIntent: 'x',
    severity: 'inconvenient',
  });
  for (const { out } of [await gaps('list'), await gaps('show', ticketId)]) {
    expect(out).toContain('clear<U+001B>[2J the<U+202E> screen');
  }
});

it('refuses what is wrong, with the words of the route', async () => {
  expect(await gaps('triage', 'gap_x')).toMatchObject({ code: 2, told: expect.stringContaining('--status') });
  expect(await gaps('show', 'gap_x')).toMatchObject({ code: 1, told: expect.stringContaining('ticketId is no id') });
  const unknown = `gap_${'0'.repeat(36)}`;
  expect(await gaps('show', unknown)).toMatchObject({ code: 1, told: expect.stringContaining('names no ticket') });
  expect(await gaps('list', '--status', 'done')).toMatchObject({ code: 1, told: expect.stringContaining('status') });
  const { ticketId } = await call('report_missing_capability', {
    whatIWanted: 'm',
    userIntent: 'x',
    severity: 'inconvenient',
  });
  await gaps('triage', ticketId, '--status', 'planned');
  expect(await gaps('triage', ticketId, '--status', 'triaged')).toMatchObject({
    code: 1,
    told: 'status cannot go from planned to triaged; from there it goes to resolved, wont_fix, duplicate',
  });
});
