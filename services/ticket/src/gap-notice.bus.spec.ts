import { createHmac } from 'node:crypto';
import { eventually, startService, type RunningService } from '@cortex/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { GapWebhook } from './adapters/gap-webhook.js';
import { gap } from './gap/gap.decider.js';
import { taken, testHook, type TestHook } from './testing/hook.js';
import { TicketModule } from './ticket.module.js';

const SECRET = 'the-secret-of-the-hook';
let hook: TestHook;
let app: RunningService;
beforeAll(async () => {
  hook = await testHook();
  app = await startService(TicketModule, {
    env: { CORTEX_TICKET_WEBHOOK_URL: hook.url, CORTEX_TICKET_WEBHOOK_SECRET: SECRET },
  });
  // Stands for the edge, which alone knows names.
  const edge = await app.nats.busAs('mcp-edge');
  edge.subscribe('cortex.query.mcp-edge.person_name', (message) => {
    const { person_id } = (JSON.parse(message.string()) as { args: { person_id: string } }).args;
    const name = person_id === 'per_ada' ? 'ada@example.com' : null;
    message.respond(JSON.stringify({ ok: true, data: { name } }));
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await hook[Symbol.asyncDispose]();
});
afterEach(() => {
  hook.told.length = 0;
  hook.answer = taken;
});

interface Reported {
  ticketId: string;
  deduplicated: boolean;
  told?: boolean;
}
const report = (whatIWanted: string, more: Record<string, unknown> = {}) => ({
  whatIWanted,
  userIntent: 'to ship',
  severity: 'blocking',
  contextTool: null,
  contextApp: null,
  suggestedShape: null,
  ...more,
});
const as = (person: string) => ({
  from: 'mcp-edge' as const,
  workspace: null,
  principal: { id: person },
  scope: { user_id: person },
});
const file = (person: string, whatIWanted: string, more: Record<string, unknown> = {}) =>
  app.ask<Reported>('cmd', 'report_gap', { ...report(whatIWanted, more), caller: 'a'.repeat(64) }, as(person));
const noticeOf = async (id: string) => {
  const { state } = await app.host.store.load(gap, null, id);
  return state.status === 'none' ? 'none' : state.notice;
};

describe('a new blocking ticket', () => {
  it('is told to the platform team once, signed, by whom it is, and the answer says so', async () => {
    const said = { contextTool: 'demo_export', contextApp: 'demo', suggestedShape: '{}' };
    const answer = await file('per_ada', 'export it', said);
    expect(answer).toMatchObject({ deduplicated: false, told: true });
    expect(await file('per_ada', 'export it', said)).not.toHaveProperty('told');
    expect(hook.told).toHaveLength(1);
    const [{ json, body, headers }] = hook.told as [(typeof hook.told)[number]];
    expect(json).toEqual({
      type: 'cortex.ticket.blocking',
      ticketId: answer.ticketId,
      backend: 'cortex',
      source: 'cortex-local',
      whatIWanted: 'export it',
      userIntent: 'to ship',
      ...said,
      agent: 'ada@example.com',
      text: `Blocking ticket ${answer.ticketId} (cortex) about demo_export by ada@example.com: export it`,
    });
    expect(headers['x-cortex-signature']).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`);
    expect(headers['content-type']).toBe('application/json');
  });

  it('of somebody without a name is told as of anonymous, in one line that gives a chat tool no order', async () => {
    await file('per_x', `<!channel> stop\nnow ${'x'.repeat(300)}`);
    const { json } = hook.told[0]!;
    expect(json).toMatchObject({ agent: 'anonymous', contextTool: null, contextApp: null, suggestedShape: null });
    expect(json.text).toMatch(/^Blocking ticket gap_\S+ \(cortex\) by anonymous: ‹!channel› stop now x+…$/);
    expect(json.text.length).toBeLessThan(260);
  });

  it('that the webhook does not take is a ticket all the same: no second try, no redirect followed', async () => {
    hook.answer = (res) => void res.writeHead(307, { location: hook.url }).end();
    expect(await file('per_307', 'redirected')).toMatchObject({ deduplicated: false, told: false });
    hook.answer = (res) => void res.writeHead(500).end('x'.repeat(100_000));
    expect(await file('per_500', 'broken')).toMatchObject({ deduplicated: false, told: false });
    expect(hook.told).toHaveLength(2);
  });

  it('whose webhook says nothing is answered all the same', async () => {
    hook.answer = () => undefined;
    const { ticketId, told } = await file('per_silent', 'nothing comes');
    expect(told).toBe(false);
    await eventually(async () => expect(await noticeOf(ticketId)).toBe('failed'));
    expect(hook.told).toHaveLength(1);
  });

  it('that a backend keeps is told of once as well', async () => {
    const note = { ...report('theirs'), backend: 'demo', backend_ticket_id: 'D 7/ä' };
    const send = () => app.ask<{ told: boolean }>('cmd', 'note_backend_gap', note, as('per_ada'));
    expect(await send()).toEqual({ told: true });
    expect(await send()).toEqual({ told: true });
    expect(hook.told.map(({ json }) => json)).toMatchObject([
      { ticketId: 'D 7/ä', backend: 'demo', source: 'backend-owned' },
    ]);
    const { tickets } = await app.ask<{ tickets: object[] }>('query', 'list_gaps', { mine: true }, as('per_ada'));
    expect(JSON.stringify(tickets)).not.toContain('theirs');
  });

  it('of backends is told of 20 times per reporter and hour, however many new tickets a backend makes of it', async () => {
    const send = (person: string, n: number) =>
      app.ask<{ told: boolean }>(
        'cmd',
        'note_backend_gap',
        { ...report('again'), backend: 'demo', backend_ticket_id: `F-${n}` },
        as(person),
      );
    for (let n = 0; n < 20; n++) expect(await send('per_flood', n)).toEqual({ told: true });
    await expect(send('per_flood', 20)).rejects.toMatchObject({ kind: 'resource_exhausted', reason: 'rate_limited' });
    // What was told of already stays told, and neither others nor tickets of our own are kept waiting.
    expect(await send('per_flood', 3)).toEqual({ told: true });
    expect(await send('per_other', 21)).toEqual({ told: true });
    expect(await file('per_flood', 'ours')).toMatchObject({ deduplicated: false, told: true });
    expect(hook.told).toHaveLength(22);
  });

  it('P81 whose telling was cut off is not told of again when its event comes again', async () => {
    const webhook = app.get(GapWebhook);
    const tell = webhook.tell.bind(webhook);
    webhook.tell = async (...args) => {
      await tell(...args);
      throw new Error('ended behind the request');
    };
    const { ticketId, told } = await file('per_cut', 'cut off');
    webhook.tell = tell;
    expect(told).toBe(false);
    await eventually(async () => expect(await noticeOf(ticketId)).toBe('failed'));
    expect(hook.told).toHaveLength(1);
  });
});

it.each(['inconvenient', 'nice_to_have'])('an %s ticket is told to nobody', async (severity) => {
  const { ticketId, ...rest } = await file('per_calm', `calm ${severity}`, { severity });
  expect(rest).toEqual({ deduplicated: false, status: 'open' });
  expect(await noticeOf(ticketId)).toBe('none');
  expect(hook.told).toEqual([]);
});

it('a blocking ticket whose webhook is gone is filed all the same, and the log says why nobody was told', async () => {
  await hook[Symbol.asyncDispose]();
  const { ticketId, told } = await file('per_gone', 'nobody is there');
  expect(told).toBe(false);
  const line = app.log.find((text) => text.includes(ticketId) && text.includes('was not told of a blocking ticket'));
  expect(line).toContain('the webhook cannot be reached (ECONNREFUSED)');
  expect(line).not.toContain(hook.url);
});
