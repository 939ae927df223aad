import { testHook, taken, type TestHook } from '@cortex/ticket/testing/hook';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RunningCortex } from './running.js';

// One process per service, and a platform team that is called over HTTP.
let hook: TestHook;
let cortex: RunningCortex;
beforeAll(async () => {
  hook = await testHook();
  cortex = await RunningCortex.start({ each: true, env: { CORTEX_TICKET_WEBHOOK_URL: hook.url } });
});
afterAll(async () => {
  await cortex?.[Symbol.asyncDispose]();
  await hook[Symbol.asyncDispose]();
});

const report = (whatIWanted: string) =>
  cortex.call('report_missing_capability', { whatIWanted, userIntent: 'to ship', severity: 'blocking' });
const told = (whatIWanted: string) => hook.told.filter(({ json }) => json.whatIWanted === whatIWanted);

it('P81 kill -9 of ticket while it tells the platform team: told once, and the report is there when it is made again', async () => {
  const wish = 'survive the night';
  // Takes it, and does not say so.
  hook.answer = () => undefined;
  const cut = report(wish);
  await eventually(() => expect(told(wish)).toHaveLength(1));
  await cortex.kill('ticket');
  hook.answer = taken;
  // Whatever its caller was told: not that it was filed and nobody knows.
  const first = await cut;
  if (!first.ok) expect(first.kind).toBe('unavailable');
  const again = await report(wish);
  expect(again).toMatchObject({ ok: true, structured: { deduplicated: true } });
  const { structured } = await cortex.call('list_cortex_tickets', {});
  expect(structured).toMatchObject({ count: 1, tickets: [{ id: again.structured?.['ticketId'], whatIWanted: wish }] });
  // Another one is told of, behind the event that came again.
  expect(await report('and the day')).toMatchObject({ structured: { deduplicated: false, adminNotified: true } });
  await cortex.caughtUp();
  expect(told(wish)).toHaveLength(1);
});

it('kill -9 of the edge while a report is under way: made again it is the same ticket, once', async () => {
  const wish = 'outlive the edge';
  hook.answer = () => undefined;
  const cut = report(wish);
  await eventually(() => expect(told(wish)).toHaveLength(1));
  await cortex.kill('mcp-edge');
  hook.answer = taken;
  await cut;
  expect(await report(wish)).toMatchObject({ ok: true, structured: { deduplicated: true } });
  const { structured } = await cortex.call('list_cortex_tickets', { limit: 100 });
  const tickets = structured?.['tickets'] as { whatIWanted: string }[];
  expect(tickets.filter(({ whatIWanted }) => whatIWanted === wish)).toHaveLength(1);
  expect(told(wish)).toHaveLength(1);
});
