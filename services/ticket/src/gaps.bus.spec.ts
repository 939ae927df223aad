import { type GapSeverity } from '@cortex/contracts/gap';
import { type CallOptions, eventually, startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TicketModule } from './ticket.module.js';
import type { GapJson } from './gap/gap-rows.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(TicketModule);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const OPERATOR = { type: 'system' as const, id: 'operator', roles: ['operator'] };
const by = (person: string, more: CallOptions = {}) => ({
  from: 'mcp-edge' as const,
  workspace: null,
  principal: { id: person },
  scope: { user_id: person },
  ...more,
});
const report = (whatIWanted: string, more: Record<string, unknown> = {}) => ({
  whatIWanted,
  userIntent: 'to finish the month',
  severity: 'inconvenient' as GapSeverity,
  contextTool: null,
  contextApp: null,
  suggestedShape: null,
  caller: 'a'.repeat(64),
  ...more,
});
interface Reported {
  ticketId: string;
  deduplicated: boolean;
  status: string;
  told?: boolean;
}
const file = (person: string, whatIWanted: string, more = {}, options: CallOptions = {}) =>
  app.ask<Reported>('cmd', 'report_gap', report(whatIWanted, more), by(person, options));
const list = (args: Record<string, unknown>, person = 'per_1', principal: CallOptions['principal'] = { id: person }) =>
  app.ask<{ tickets: GapJson[]; count: number; next_cursor: string | null }>('query', 'list_gaps', args, {
    ...by(person),
    ...(principal && { principal }),
  });
const all = (args: Record<string, unknown> = {}) => list({ mine: false, ...args }, 'operator', OPERATOR);
const triage = (ticketId: string, change: Record<string, unknown>, principal: CallOptions['principal'] = OPERATOR) =>
  app.ask<GapJson>(
    'cmd',
    'triage_gap',
    { ticketId, ...change },
    { ...by('operator'), ...(principal && { principal }) },
  );
/** A view is read once it holds what was written. */
const listed = (person: string, count: number) =>
  eventually(async () => {
    const { tickets } = await list({ mine: true }, person);
    expect(tickets).toHaveLength(count);
    return tickets;
  });

describe('a report', () => {
  it('is a ticket of its reporter, whole and open', async () => {
    const more = { severity: 'nice_to_have', contextTool: 'demo_export', contextApp: 'demo', suggestedShape: '{a: 1}' };
    const { ticketId, ...rest } = await file('per_whole', 'export as CSV', more);
    expect(rest).toEqual({ deduplicated: false, status: 'open' });
    const [ticket] = await listed('per_whole', 1);
    expect(ticket).toEqual({
      id: ticketId,
      status: 'open',
      severity: 'nice_to_have',
      contextTool: 'demo_export',
      contextApp: 'demo',
      whatIWanted: 'export as CSV',
      userIntent: 'to finish the month',
      suggestedShape: '{a: 1}',
      triageNote: null,
      resolutionNote: null,
      resolvedPrUrl: null,
      duplicateOf: null,
      reporter: 'per_whole',
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: ticket!.createdAt,
      resolvedAt: null,
    });
  });

  it('that says the same of the same tool is the same ticket, which was changed by that; of another person it is another', async () => {
    const first = await file('per_twice', 'merge cells', { contextTool: 'sheet' });
    const again = await file('per_twice', 'merge cells', { contextTool: 'sheet', severity: 'blocking' });
    expect(again).toEqual({ ticketId: first.ticketId, deduplicated: true, status: 'open' });
    const other = await file('per_twice', 'merge cells', { contextTool: 'doc' });
    const elses = await file('per_other', 'merge cells', { contextTool: 'sheet' });
    expect(new Set([first, other, elses].map(({ ticketId }) => ticketId)).size).toBe(3);
    const tickets = await listed('per_twice', 2);
    const [sheet] = tickets.filter(({ contextTool }) => contextTool === 'sheet');
    expect(sheet!.severity).toBe('inconvenient');
    expect(sheet!.updatedAt > sheet!.createdAt).toBe(true);
  });

  it('sent twenty times at once is one ticket', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => file('per_burst', 'the same')));
    expect(new Set(answers.map(({ ticketId }) => ticketId)).size).toBe(1);
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    await listed('per_burst', 1);
  });

  it('of one call that is sent twice is answered twice alike', async () => {
    const options = { key: 'k1', caller: 'b'.repeat(64) };
    const first = await file('per_keyed', 'once', {}, options);
    await file('per_keyed', 'something else');
    expect(await file('per_keyed', 'once', {}, options)).toEqual(first);
    expect(first.deduplicated).toBe(false);
  });

  it('is refused as the twenty-first new one of a caller within the hour; what was reported before still counts as reported', async () => {
    const firsts = [];
    for (let n = 0; n < 20; n++) firsts.push(await file('per_many', `wish ${n}`));
    await expect(file('per_many', 'wish 20')).rejects.toMatchObject({
      kind: 'resource_exhausted',
      reason: 'rate_limited',
      message: expect.stringMatching(/^20 new tickets an hour are the most; wait \d+ minutes$/),
    });
    expect(await file('per_many', 'wish 3')).toMatchObject({ ticketId: firsts[3]!.ticketId, deduplicated: true });
    expect((await file('per_many', 'wish 20', { caller: 'c'.repeat(64) })).deduplicated).toBe(false);
  });

  it('of an agent is its person’s, and of an agent that is nobody’s its own', async () => {
    const agent = { type: 'agent' as const, id: 'agent-7' };
    await file(
      'per_behind',
      'by my agent',
      {},
      { principal: agent, scope: { session_id: 's1', user_id: 'per_behind' } },
    );
    await file('x', 'by nobody’s agent', {}, { principal: agent, scope: { session_id: 's2' } });
    expect(await listed('per_behind', 1)).toMatchObject([{ whatIWanted: 'by my agent' }]);
    expect((await all()).tickets.find(({ reporter }) => reporter === 'agent-7')).toMatchObject({
      whatIWanted: 'by nobody’s agent',
    });
  });

  it('T89 keeps no secret that was written into it', async () => {
    await file('per_secret', 'call it with password=hunter2hunter2', { suggestedShape: 'token=abcdefgh12345678' });
    const [ticket] = await listed('per_secret', 1);
    expect(JSON.stringify(ticket)).not.toMatch(/hunter2|abcdefgh/);
  });

  it.each([
    ['whatIWanted', { whatIWanted: ' ' }],
    ['whatIWanted', { whatIWanted: 'x'.repeat(4_001) }],
    ['severity', { severity: 'high' }],
    ['caller', { caller: 'me' }],
  ])('is refused where %s is wrong', async (field, more) => {
    await expect(file('per_bad', 'x', more)).rejects.toMatchObject({ kind: 'invalid_argument', field });
  });
});

describe('the list', () => {
  it('of a caller holds the own tickets alone, newest first, by status, severity and backend, in pages', async () => {
    for (const [n, severity] of (['inconvenient', 'nice_to_have', 'inconvenient'] as const).entries())
      await file('per_list', `own ${n}`, { severity, contextApp: n === 0 ? 'demo' : n === 1 ? 'cortex' : null });
    await file('per_stranger', 'not yours');
    const names = async (args: Record<string, unknown>) =>
      (await list({ mine: true, ...args }, 'per_list')).tickets.map(({ whatIWanted }) => whatIWanted);
    await listed('per_list', 3);
    expect(await names({})).toEqual(['own 2', 'own 1', 'own 0']);
    expect(await names({ severity: 'nice_to_have' })).toEqual(['own 1']);
    expect(await names({ contextApp: 'demo' })).toEqual(['own 0']);
    expect(await names({ contextApp: 'cortex' })).toEqual(['own 2', 'own 1']);
    expect(await names({ status: 'planned' })).toEqual([]);
    const page = await list({ mine: true, limit: 2 }, 'per_list');
    expect(page.count).toBe(2);
    expect(await names({ limit: 2, cursor: page.next_cursor })).toEqual(['own 0']);
  });

  it('T87 takes what is asked for as a text and as nothing else', async () => {
    await file('per_sql', 'x', { contextApp: 'demo' });
    await listed('per_sql', 1);
    for (const contextApp of ["demo' or '1'='1", '%', 'demo; drop table missing_capabilities'])
      expect((await list({ mine: true, contextApp }, 'per_sql')).tickets).toEqual([]);
    const nul = list({ mine: true, contextApp: 'de\0mo' }, 'per_sql');
    await expect(nul).rejects.toMatchObject({ kind: 'invalid_argument', field: 'contextApp' });
    const cursor = list({ mine: true, cursor: 'bm9uZQ' }, 'per_sql');
    await expect(cursor).rejects.toMatchObject({ kind: 'invalid_argument', field: 'cursor' });
  });

  it('T86 of everybody is given to operators alone, and so is triage', async () => {
    const { ticketId } = await file('per_private', 'mine');
    const forbidden = { kind: 'permission_denied', reason: 'forbidden' };
    await expect(list({ mine: false }, 'per_curious')).rejects.toMatchObject(forbidden);
    await expect(triage(ticketId, { status: 'resolved' }, { id: 'per_curious' })).rejects.toMatchObject(forbidden);
    expect((await all({ ticketId })).tickets).toMatchObject([{ id: ticketId, reporter: 'per_private' }]);
  });
});

describe('triage', () => {
  it('moves a ticket, keeps notes, and shows both to whoever reported it', async () => {
    const { ticketId } = await file('per_triage', 'a chart');
    expect(await triage(ticketId, { status: 'triaged', triageNote: 'looks right' })).toMatchObject({
      status: 'triaged',
      triageNote: 'looks right',
    });
    const done = { status: 'resolved', resolutionNote: 'in 2.1', resolvedPrUrl: 'https://example.com/pr/7' };
    expect(await triage(ticketId, done)).toMatchObject({
      ...done,
      triageNote: 'looks right',
      resolvedAt: expect.any(String),
    });
    expect(await listed('per_triage', 1)).toMatchObject([done]);
    expect(await triage(ticketId, { status: 'triaged' })).toMatchObject({
      status: 'triaged',
      triageNote: 'looks right',
      resolutionNote: null,
      resolvedPrUrl: null,
      resolvedAt: null,
    });
    expect(await triage(ticketId, { triageNote: null })).toMatchObject({ status: 'triaged', triageNote: null });
  });

  it('refuses a move that is none, and says which there are', async () => {
    const { ticketId } = await file('per_moves', 'x');
    await triage(ticketId, { status: 'planned' });
    await expect(triage(ticketId, { status: 'triaged' })).rejects.toMatchObject({
      kind: 'failed_precondition',
      reason: 'invalid_state',
      message: 'status cannot go from planned to triaged; from there it goes to resolved, wont_fix, duplicate',
    });
  });

  it('marks a ticket as a duplicate of one that is there and is none itself', async () => {
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((wish) => file('per_dup', wish)));
    expect(await triage(a!.ticketId, { duplicateOf: b!.ticketId })).toMatchObject({
      status: 'duplicate',
      duplicateOf: b!.ticketId,
    });
    const isDuplicate = triage(c!.ticketId, { duplicateOf: a!.ticketId });
    await expect(isDuplicate).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringContaining(b!.ticketId),
    });
    const itself = triage(c!.ticketId, { duplicateOf: c!.ticketId });
    await expect(itself).rejects.toMatchObject({ kind: 'invalid_argument', field: 'duplicateOf' });
    const nowhere = triage(c!.ticketId, { duplicateOf: `gap_${'0'.repeat(36)}` });
    await expect(nowhere).rejects.toMatchObject({ kind: 'not_found', field: 'duplicateOf' });
    await expect(triage(`gap_${'0'.repeat(36)}`, { status: 'triaged' })).rejects.toMatchObject({
      kind: 'not_found',
      field: 'ticketId',
    });
  });

  it.each([
    ['body', {}],
    ['status', { status: 'done' }],
    ['resolvedPrUrl', { resolvedPrUrl: 'javascript:alert(1)' }],
    ['duplicateOf', { duplicateOf: 'x' }],
  ])('refuses what says nothing or wrong: %s', async (field, change) => {
    const { ticketId } = await file('per_wrong', 'x');
    await expect(triage(ticketId, change)).rejects.toMatchObject({ kind: 'invalid_argument', field });
  });
});
