import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BudgetLimits } from '@cortex/contracts/cost';
import { CONFIG } from '@cortex/service-kit';
import { eventually } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import type { Config } from './config.js';
import { startBilling, type Billing } from './testing/billing.js';

const set = (billing: Billing, daily_usd: number, monthly_usd: number, project?: string) =>
  billing.app.ask('cmd', 'set_budget', { daily_usd, monthly_usd, ...(project !== undefined && { project }) });
const limits = (billing: Billing) =>
  billing.app.ask<BudgetLimits & { projects: Record<string, BudgetLimits> }>(
    'query',
    'budgets',
    {},
    {
      from: 'provision',
    },
  );
/** `project period limit` of every crossing in the log. */
async function crossings(billing: Billing): Promise<string[]> {
  const { rows } = await billing.app.postgres
    .pool()
    .query<{ line: string }>(`select project || ' ' || period || ' ' || limit_usd as line from billing.overspends`);
  return rows.map(({ line }) => line).toSorted();
}
const warnings = (billing: Billing) => billing.app.log.filter((line) => line.includes('is exceeded:')).length;
const overspendCommits = async ({ app }: Billing): Promise<number> => {
  const filter = JSON.stringify({ subjects_filter: 'cortex.evt.billing.*.overspend.*' });
  const info = await app.host.bus.request('$JS.API.STREAM.INFO.CORTEX_EVENTS', filter, { timeoutMs: 2_000 });
  const { subjects = {} } = info.json<{ state: { subjects?: Record<string, number> } }>().state;
  return Object.values(subjects).reduce((sum, count) => sum + count, 0);
};

it('a project has both of its limits or goes by those of all projects', async () => {
  await using billing = await startBilling();
  const session = await billing.session('s1');
  await billing.use(session, { key: 'k', cost_usd: 3 });
  expect(await billing.query({ projectId: 'arm' })).toMatchObject({
    budget_scope: 'global',
    today: { budget: 300, remaining: 297, percent: 1 },
    month: { budget: 8000 },
  });
  await set(billing, 2, 20, 'arm');
  await eventually(async () => {
    expect(await billing.query({ projectId: 'arm' })).toMatchObject({
      budget_scope: 'project',
      today: { budget: 2, remaining: -1, percent: 150 },
      month: { budget: 20, remaining: 17, percent: 15 },
    });
  });
  expect(await billing.query()).toMatchObject({ scope: 'all', project_id: null, today: { budget: 300 } });
  await billing.app.ask('cmd', 'clear_project_budget', { project: 'arm' });
  await eventually(async () => (await billing.query({ projectId: 'arm' })).budget_scope === 'global');
  expect((await limits(billing)).projects).toEqual({});
});

it.each([
  ['nought', { daily_usd: 0, monthly_usd: 1 }, 'daily_usd'],
  ['a negative limit', { daily_usd: 1, monthly_usd: -1 }, 'monthly_usd'],
  ['one limit alone', { daily_usd: 1 }, 'monthly_usd'],
  ['a text', { daily_usd: '1', monthly_usd: 1 }, 'daily_usd'],
  ['a blank project', { daily_usd: 1, monthly_usd: 1, project: ' ' }, 'project'],
])('a budget of %s is refused', async (_what, args, field) => {
  await using billing = await startBilling();
  await expect(billing.app.ask('cmd', 'set_budget', args)).rejects.toMatchObject({
    kind: 'invalid_argument',
    message: expect.stringContaining(field),
  });
  expect(await limits(billing)).toEqual({ daily_usd: 300, monthly_usd: 8000, projects: {} });
});

it('a limit that is crossed is told once per budget and period: an event, a line in the log, and to who asks', async () => {
  await using billing = await startBilling();
  await set(billing, 1, 100, 'arm');
  const session = await billing.session('s1');
  expect(await billing.use(session, { key: 'a', cost_usd: 1 })).not.toHaveProperty('warnings');
  const note = 'the daily budget of project arm (1 USD) is exceeded';
  await eventually(async () => {
    const key = `b${Math.random()}`;
    expect(await billing.use(session, { key, cost_usd: 0.01 })).toMatchObject({ warnings: [note] });
  });
  await eventually(async () => expect(await crossings(billing)).toEqual(['arm day 1']));
  for (const key of ['c', 'd', 'e']) await billing.use(session, { key, cost_usd: 1 });
  await eventually(() => warnings(billing) > 0);
  const { head } = await billing.app.send('cost_query', { projectId: 'arm' }, { principal: { roles: ['operator'] } });
  expect(head).toMatchObject({ ok: true, meta: { 'cortex/budget_exceeded': [note] } });
  expect([await overspendCommits(billing), warnings(billing)]).toEqual([1, 1]);
});

it('a limit that two calls cross at once, over and over, is told exactly once', async () => {
  await using billing = await startBilling();
  const sessions = await Promise.all(
    ['a', 'b', 'c', 'd'].map((id) => billing.session(id, { workspace: id === 'd' ? 'w2' : 'w1', project: `p_${id}` })),
  );
  await set(billing, 1, 2);
  await billing.use(sessions[0]!, { key: 'first', cost_usd: 0.99 });
  await Promise.all(
    sessions.flatMap((session) => [1, 2, 3].map((n) => billing.use(session, { key: `k${n}`, cost_usd: 0.2 }))),
  );
  await eventually(async () => expect(await crossings(billing)).toEqual([' day 1', ' month 2']));
  // The watch has looked at every record before it is asked how often it told.
  await eventually(async () => {
    const lag = await billing.app.host.reactors.lag();
    expect(lag.map(({ pending }) => pending)).toEqual([0, 0]);
  });
  expect([await overspendCommits(billing), warnings(billing)]).toEqual([2, 2]);
});

it('a limit is told again when it was raised and is crossed too', async () => {
  await using billing = await startBilling();
  const session = await billing.session('s1');
  await set(billing, 1, 1000);
  await billing.use(session, { key: 'a', cost_usd: 2 });
  await eventually(async () => expect(await crossings(billing)).toEqual([' day 1']));
  const told = async () => {
    const { head } = await billing.app.send('cost_query', {}, { principal: { roles: ['operator'] } });
    return (head as { meta?: Record<string, string[]> }).meta?.['cortex/budget_exceeded'];
  };
  expect(await told()).toEqual(['the daily budget of all projects (1 USD) is exceeded']);
  await set(billing, 1.5, 1000);
  await eventually(async () => (await limits(billing)).daily_usd === 1.5);
  expect(await told()).toBeUndefined();
  await set(billing, 0.5, 1000);
  await eventually(async () => (await limits(billing)).daily_usd === 0.5);
  expect(await told()).toEqual(['the daily budget of all projects (0.5 USD) is exceeded']);
  await set(billing, 5, 1000);
  await eventually(async () => (await limits(billing)).daily_usd === 5);
  await billing.use(session, { key: 'b', cost_usd: 2 });
  await billing.use(session, { key: 'c', cost_usd: 2 });
  await eventually(async () => expect(await crossings(billing)).toEqual([' day 5']));
});

it('spending of a day that is over warns of nothing', async () => {
  await using billing = await startBilling();
  const session = await billing.session('s1');
  await set(billing, 1, 1000);
  const late = { session_id: session.id, key: 'late', timestamp: '2020-01-01T00:00:00.000Z', cost_usd: 5 };
  await billing.app.ask(
    'cmd',
    'record_cost',
    { ...late, input_tokens: 0, output_tokens: 0 },
    {
      from: 'session',
      principal: { type: 'system', id: 'turns_v1' },
    },
  );
  await billing.use(session, { key: 'now', cost_usd: 0.5 });
  await eventually(async () => {
    const lag = await billing.app.host.reactors.lag();
    expect(lag.map(({ pending }) => pending)).toEqual([0, 0]);
  });
  expect(await overspendCommits(billing)).toBe(0);
});

it('budget.json is taken over when it says something new, and what a command sets later holds until then', async () => {
  await using billing = await startBilling();
  const dir = join(billing.app.get<Config>(CONFIG).CORTEX_HOME, 'config');
  await mkdir(dir, { recursive: true });
  const write = (content: string) => writeFile(join(dir, 'budget.json'), content);
  await set(billing, 7, 70, 'leg');
  const arm = { daily_usd: 1, monthly_usd: 10 };
  await write(JSON.stringify({ daily_usd: 50, projects: { arm } }));
  const taken = { daily_usd: 50, monthly_usd: 8000, projects: { arm } };
  await eventually(async () => expect(await limits(billing)).toEqual(taken));
  await set(billing, 60, 600);
  await write('{\n  "daily_usd": 50,\n  "monthly_usd": "much"\n}');
  await eventually(() => billing.app.log.some((line) => line.includes('monthly_usd (line 3)')));
  expect(await limits(billing)).toEqual({ ...taken, daily_usd: 60, monthly_usd: 600 });

  const { nats, postgres } = billing.app;
  await write(JSON.stringify({ daily_usd: 50, projects: { arm } }));
  await billing.app.stop();
  await using again = await startBilling({ nats, postgres, env: { CORTEX_HOME: join(dir, '..') } });
  await set(again, 61, 610, 'toe'); // a commit after the look at start, which the view then has
  await eventually(async () => expect(await limits(again)).toHaveProperty('projects.toe'));
  expect(await limits(again)).toMatchObject({ daily_usd: 60, monthly_usd: 600 });
});
