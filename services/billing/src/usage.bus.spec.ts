import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONFIG } from '@cortex/service-kit';
import type { WrittenSession } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Config } from './config.js';
import { agent, startBilling, type Billing } from './testing/billing.js';

let billing: Billing;

beforeAll(async () => {
  billing = await startBilling();
});
afterAll(async () => {
  await billing[Symbol.asyncDispose]();
});

let count = 0;
/** A session and a project of its own for each test. */
const fresh = async (): Promise<{ session: WrittenSession; project: string }> => {
  const project = `p${++count}`;
  return { session: await billing.session(`s${count}`, { project }), project };
};
const todayOf = async (projectId: string) => {
  const { today, entry_count } = await billing.query({ projectId });
  return { total: today.total, entries: entry_count };
};
const writePrices = async (content: string) => {
  const dir = join(billing.app.get<Config>(CONFIG).CORTEX_HOME, 'config');
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'prices.json'), content);
};

describe('a usage record', () => {
  it('is priced by its tokens and counted for the project of its session', async () => {
    const { session, project } = await fresh();
    const tokens = { input_tokens: 1_000_000, output_tokens: 100_000, cache_read_tokens: 2_000_000 };
    const recorded = await billing.use(session, { key: 'k', ...tokens });
    expect(recorded).toEqual({ recorded: true, cost_usd: 5.1 });
    expect(await billing.query({ projectId: project })).toMatchObject({
      scope: 'project',
      today: { total: 5.1, api: 5.1, plan: 0, budget: 300, remaining: 294.9, percent: 1.7 },
      by_source: { estimate: { today: 5.1, month: 5.1 }, gateway: { today: 0, month: 0 } },
      tokens: { today: { input: 1_000_000, output: 100_000 } },
      entry_count: 1,
    });
  });

  it('is metered once, under the name of its model in the table of prices, and under few names whatever is reported', async () => {
    const { session } = await fresh();
    const metered = async (): Promise<string[]> => {
      const text = await billing.app.host.metrics.registry.metrics();
      return text.split('\n').filter((line) => /^cortex_(spent|tokens|unpriced)/.test(line));
    };
    const before = await metered();
    const tokens = { input_tokens: 1_000_000, output_tokens: 100 };
    const usage = { key: 'm', model: 'claude-haiku-4-5-20251001', ...tokens };
    await billing.use(session, usage);
    await billing.use(session, usage);
    for (const n of [1, 2, 3]) await billing.use(session, { key: `m${n}`, model: `made-up-${n}`, ...tokens });
    const added = (await metered()).filter((line) => !before.includes(line));
    expect(added.filter((line) => line.includes('claude-haiku-4-5'))).toEqual([
      'cortex_spent_usd_total{model="claude-haiku-4-5",mode="api",source="estimate",place="workspace"} 1.0005',
      'cortex_tokens_total{model="claude-haiku-4-5",kind="input",place="workspace"} 1000000',
      'cortex_tokens_total{model="claude-haiku-4-5",kind="output",place="workspace"} 100',
    ]);
    expect(added.join()).not.toContain('made-up');
    expect(added.find((line) => line.startsWith('cortex_unpriced_total'))).toBe(
      'cortex_unpriced_total{model="other"} 3',
    );
  });

  it('that brings its cost keeps it, to the micro-dollar, as what the provider reported', async () => {
    const { session, project } = await fresh();
    const usage = { key: 'k', model: 'unheard-of', cost_usd: 0.12345678, mode: 'plan' };
    expect(await billing.use(session, usage)).toEqual({ recorded: true, cost_usd: 0.123457 });
    const { today, by_source } = await billing.query({ projectId: project });
    expect([today.plan, today.api, by_source['gateway']?.today]).toEqual([0.123457, 0, 0.123457]);
  });

  it('sums many small amounts exactly', async () => {
    const { session, project } = await fresh();
    const keys = Array.from({ length: 30 }, (_, n) => `k${n}`);
    await Promise.all(keys.map((key) => billing.use(session, { key, cost_usd: 0.1 })));
    expect(await todayOf(project)).toEqual({ total: 3, entries: 30 });
  });

  it('counts once under its key: the second one answers with what was recorded first', async () => {
    const { session, project } = await fresh();
    expect(await billing.use(session, { key: 'k', cost_usd: 1 })).toEqual({ recorded: true, cost_usd: 1 });
    expect(await billing.use(session, { key: 'k', cost_usd: 9 })).toEqual({ recorded: false, cost_usd: 1 });
    expect(await todayOf(project)).toEqual({ total: 1, entries: 1 });
  });

  it('counts once when it comes many times at once, and one answer says that it is the one', async () => {
    const { session, project } = await fresh();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => billing.use(session, { key: 'k', cost_usd: 1 + n })),
    );
    expect(answers.filter(({ recorded }) => recorded)).toHaveLength(1);
    expect(new Set(answers.map(({ cost_usd }) => cost_usd)).size).toBe(1);
    expect(await todayOf(project)).toEqual({ total: answers[0]!.cost_usd, entries: 1 });
  });

  it('of another session counts on its own under the same key', async () => {
    const [one, two] = [await fresh(), await fresh()];
    await billing.use(one.session, { key: 'k', cost_usd: 1 });
    expect(await billing.use(two.session, { key: 'k', cost_usd: 1 })).toMatchObject({ recorded: true });
  });

  it('sent again with its idempotency key, its answer being lost, is told that it is recorded', async () => {
    const { session } = await fresh();
    const once = { ...agent(session), key: 'once' };
    const first = await billing.use(session, { key: 'k', cost_usd: 1 }, once);
    const again = await billing.use(session, { key: 'k', cost_usd: 1 }, once);
    expect([first, again]).toEqual([
      { recorded: true, cost_usd: 1 },
      { recorded: true, cost_usd: 1 },
    ]);
  });

  it('of a model without a price has no cost, says so and is counted with its tokens', async () => {
    const { session, project } = await fresh();
    const answer = await billing.use(session, { key: 'k', model: 'unheard-of', input_tokens: 7 });
    expect(answer).toEqual({
      recorded: true,
      cost_usd: null,
      warnings: ['model unheard-of has no price, so its cost is unknown; add it to config/prices.json'],
    });
    const { today, tokens, entry_count } = await billing.query({ projectId: project });
    expect([today.total, tokens.today.input, entry_count]).toEqual([0, 7, 1]);
    expect(billing.app.log.some((line) => line.includes('a model has no price'))).toBe(true);
  });

  it('with neither cost nor tokens is not recorded when it is an estimate, and is when the provider reports it', async () => {
    const { session, project } = await fresh();
    expect(await billing.use(session, { key: 'k', model: 'x' })).toEqual({ recorded: false, cost_usd: null });
    const priced = { key: 'p', model: 'claude-opus-4-1', input_tokens: 0, output_tokens: 0 };
    expect(await billing.use(session, priced)).toEqual({ recorded: false, cost_usd: null });
    expect(await todayOf(project)).toEqual({ total: 0, entries: 0 });
    const reported = { key: 'k', model: 'x', source: 'gateway', num_turns: 3 };
    expect(await billing.use(session, reported)).toEqual({ recorded: true, cost_usd: null });
    expect(await todayOf(project)).toEqual({ total: 0, entries: 1 });
  });

  it('goes by prices.json from the next record on, and by the last good prices while it is broken', async () => {
    const { session } = await fresh();
    const use = (key: string) => billing.use(session, { key, model: 'house-1-large', input_tokens: 1_000_000 });
    expect((await use('a')).cost_usd).toBeNull();
    await writePrices('{ "own": { "house-1": { "input": 2, "output": 4 } } }');
    expect((await use('b')).cost_usd).toBe(2);
    await writePrices('{\n  "own": {\n    "house-1": { "input": -2, "output": 4 }\n  }\n}');
    expect((await use('c')).cost_usd).toBe(2);
    expect(billing.app.log.some((line) => line.includes('own.house-1.input (line 3): must not be negative'))).toBe(
      true,
    );
    await writePrices('{}');
    expect((await use('d')).cost_usd).toBeNull();
  });
});

describe('a usage record is refused', () => {
  const refusals: [string, Record<string, unknown>, string][] = [
    ['a negative number', { input_tokens: -1 }, 'input_tokens'],
    ['half a token', { output_tokens: 0.5 }, 'output_tokens'],
    ['a number that is a text', { input_tokens: 'NaN' }, 'input_tokens'],
    ['no number at all', { input_tokens: null }, 'input_tokens'],
    ['more tokens than there are', { cache_read_tokens: 1e15 }, 'cache_read_tokens'],
    ['a negative cost', { cost_usd: -0.01 }, 'cost_usd'],
    ['a cost that nobody pays', { cost_usd: 1e9 }, 'cost_usd'],
    ['an unknown mode', { mode: 'free' }, 'mode'],
    ['an unknown source', { source: 'guess' }, 'source'],
    ['P89 a name of a field that is nearly right', { inputTokens: 5 }, 'inputTokens'],
    ['no key', { key: undefined }, 'key'],
    ['a blank key', { key: '  ' }, 'key'],
    ['a key that the database cannot hold', { key: 'a\0b' }, 'key'],
    ['a model without a name', { model: '' }, 'model'],
  ];
  it.each(refusals)('that holds %s', async (_what, usage, field) => {
    const session = await billing.session('refused', { project: 'refused' });
    const answer = billing.use(session, { key: 'k', input_tokens: 1, ...usage });
    await expect(answer).rejects.toMatchObject({ kind: 'invalid_argument', message: expect.stringContaining(field) });
    expect(await todayOf('refused')).toEqual({ total: 0, entries: 0 });
  });

  it('of a session that is not the caller’s own', async () => {
    const [mine, theirs] = [await fresh(), await fresh()];
    const answer = billing.use(theirs.session, { key: 'k', cost_usd: 1 }, agent(mine.session));
    await expect(answer).rejects.toMatchObject({ kind: 'permission_denied', field: 'sessionId' });
  });

  it('of a person, who spends through no session', async () => {
    const { session } = await fresh();
    const answer = billing.use(session, { key: 'k', cost_usd: 1 }, { principal: { type: 'user', id: 'per_1' } });
    await expect(answer).rejects.toMatchObject({ kind: 'permission_denied' });
  });

  it('of a session that the log does not have, also by the server itself', async () => {
    const nobody = { id: 'nobody', workspace: null };
    const how = { principal: { type: 'system' as const, id: 'system' }, scope: { session_id: 'nobody' } };
    const answer = billing.use(nobody, { key: 'k', cost_usd: 1 }, how);
    await expect(answer).rejects.toMatchObject({ kind: 'not_found', field: 'sessionId' });
  });
});

describe('spending', () => {
  it('of a session that has ended still counts: the report may come after it', async () => {
    const { session, project } = await fresh();
    await billing.end(session);
    expect(await billing.use(session, { key: 'k', cost_usd: 1 })).toMatchObject({ recorded: true });
    expect((await todayOf(project)).total).toBe(1);
  });

  it('of a session without a workspace counts, in none', async () => {
    const session = await billing.session('nowhere', { project: 'nowhere', workspace: null });
    expect(await billing.use(session, { key: 'k', cost_usd: 1 })).toMatchObject({ recorded: true });
    expect(await todayOf('nowhere')).toEqual({ total: 1, entries: 1 });
  });

  it('that the session service reports counts once by its key, at the time that it names and never later than now', async () => {
    const { session, project } = await fresh();
    const report = (key: string, timestamp: string, cost_usd: number) =>
      billing.app.ask(
        'cmd',
        'record_cost',
        {
          session_id: session.id,
          key,
          timestamp,
          cost_usd,
          input_tokens: 0,
          output_tokens: 0,
        },
        { from: 'session', principal: { type: 'system', id: 'turns_v1' }, workspace: session.workspace },
      );
    await report('turn-1', '2020-01-01T00:00:00.000Z', 4);
    await report('turn-1', '2020-01-01T00:00:00.000Z', 4);
    await report('turn-2', '2100-01-01T00:00:00.000Z', 2);
    expect(await todayOf(project)).toEqual({ total: 2, entries: 2 });
  });
});
