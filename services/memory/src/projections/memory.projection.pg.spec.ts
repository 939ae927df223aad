import type { FactEvent, RecordedFact } from '@cortex/contracts/memory';
import { projectionFixture } from '@cortex/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { candidates, lexical, neighbours, newest, type Scope } from '../search/candidates.js';
import { tokens } from '../search/tokens.js';
import { memory } from './memory.projection.js';
import { migrations } from './tables.js';

const open = () => projectionFixture(memory, migrations);
let t: Awaited<ReturnType<typeof open>>;
let seq = 0;
beforeAll(async () => {
  t = await open();
});
beforeEach(async () => {
  for (const table of memory.tables) await t.db.deleteFrom(table).execute();
});
afterAll(async () => {
  await t[Symbol.asyncDispose]();
});

const now = '2026-01-05T12:00:00.000Z';
const all: Scope = { now, domains: null };
const recorded = (id: string, topic: string, content: string, more: Partial<RecordedFact> = {}): FactEvent => ({
  type: 'MemoryFactRecorded',
  data: {
    fact: {
      id,
      domain: 'auth-flow',
      topic,
      content,
      memory_type: 'fact',
      veracity: 'stated',
      confidence: 0.5,
      authored_by_agent_id: 'a1',
      authored_by_role: 'coder',
      source_observation_ids: [],
      valid_until: null,
      ...more,
    },
  },
});
const superseded = (fact_id: string, superseded_by: string): FactEvent => ({
  type: 'MemoryFactSuperseded',
  data: { fact_id, superseded_by, reason: 'contradiction' },
});
const mentioned = (fact_id: string, agent_id: string, mention_count: number): FactEvent => ({
  type: 'MemoryFactReasserted',
  data: { fact_id, agent_id, mention_count, confidence: 0.65, proposal_id: 'p' },
});
const linked = (source: string, target: string, weight: number): FactEvent => ({
  type: 'MemoryFactsLinked',
  data: { source, target, weight },
});
const apply = (...events: FactEvent[]) => t.apply(++seq, ...events);
const search = async (query: string, scope = all) =>
  (await lexical(t.db, [...new Set(tokens(query))], scope, 30)).map(({ id, score }) => [id, Number(score.toFixed(4))]);
const totals = () => t.db.selectFrom('fact_totals').select(['facts', 'tokens']).execute();

const three = async () => {
  await apply(
    recorded('f1', 'session token TTL', 'Sessions expire after 30 days idle; refresh tokens rotate on each use.'),
  );
  await apply(recorded('f2', 'ci owner', 'The CI pipeline owner is team platform'));
  await apply(recorded('f3', 'deploy target', 'deploy target is staging', { domain: 'repo:acme-api/deploys' }));
};

describe('search by words', () => {
  it('scores by BM25 over the stemmed words of all active facts', async () => {
    await three();
    expect(await search('refresh token rotation')).toEqual([['f1', 1.9332]]);
    expect(await search('deploy target')).toEqual([['f3', 3.0616]]);
  });
  it('weighs a word by the whole workspace, whichever domain is searched', async () => {
    await three();
    const scope = { now, domains: ['repo:acme-api/deploys'] };
    expect(await search('deploy target token', scope)).toEqual([['f3', 3.0616]]);
    expect(await search('deploy', { now, domains: [] })).toEqual([]);
  });
  it('puts the newer of equals first', async () => {
    await apply(recorded('old', 'x', 'same words'));
    await apply(recorded('new', 'x', 'same words'));
    expect((await search('words')).map(([id]) => id)).toEqual(['new', 'old']);
  });
  it('forgets a fact that is superseded, also in its statistics', async () => {
    await three();
    const before = await search('deploy target');
    await apply(recorded('f4', 'deploy target', 'deploy target is prod'), superseded('f4', 'f3'));
    expect(await search('deploy target')).toEqual(before);
    const places = await t.db.selectFrom('fact_terms').select('place').distinct().execute();
    expect(places).toHaveLength(3);
  });
  it('forgets a fact from the moment it expires, also in its statistics', async () => {
    await three();
    const before = await search('deploy target');
    await apply(recorded('f4', 'deploy target', 'deploy target is prod', { valid_until: now }));
    expect(await search('deploy target')).toEqual(before);
    expect((await search('deploy target', { ...all, now: '2026-01-05T11:59:59.999Z' })).length).toBe(2);
  });
  it('finds text in any script', async () => {
    await apply(recorded('f1', '部署', '東京タワーに配備する'));
    await apply(recorded('f2', 'погода', 'В Москве идёт снег'));
    expect((await search('東京')).map(([id]) => id)).toEqual(['f1']);
    expect((await search('МОСКВЕ')).map(([id]) => id)).toEqual(['f2']);
  });
  it('takes the longest word and the most words that a fact can hold', async () => {
    await apply(recorded('f1', 'blob', 'x'.repeat(4000)));
    await apply(recorded('f2', 'list', Array.from({ length: 800 }, (_, i) => `w${i}`).join(' ')));
    expect((await search('x'.repeat(5000))).map(([id]) => id)).toEqual(['f1']);
    expect((await search('w799')).map(([id]) => id)).toEqual(['f2']);
  });
  it('keeps a fact without a single word', async () => {
    await apply(recorded('f1', '🎉', '👍🏽'));
    expect(await totals()).toEqual([{ facts: '1', tokens: '0' }]);
    expect(await newest(t.db, all, 5)).toEqual(['f1']);
  });
});

describe('the rows of facts', () => {
  it('count a redelivered commit once', async () => {
    const first = recorded('f1', 'x', 'two words');
    seq += 1;
    await t.apply(seq, first);
    await t.apply(seq, first);
    expect(await totals()).toEqual([{ facts: '1', tokens: '2' }]);
  });
  it('keep the first of two facts with one id, and count one', async () => {
    await apply(recorded('f1', 'x', 'first words'));
    await apply(recorded('f1', 'y', 'others'));
    expect(await t.db.selectFrom('facts').select('content').execute()).toEqual([{ content: 'first words' }]);
    expect(await totals()).toEqual([{ facts: '1', tokens: '2' }]);
    expect(await search('others')).toEqual([]);
  });
  it('count a fact that is superseded twice, or never was there, once or not at all', async () => {
    await apply(recorded('f1', 'x', 'two words'), recorded('f2', 'y', 'three more words'));
    await apply(superseded('f1', 'f2'));
    await apply(superseded('f1', 'f2'), superseded('gone', 'f2'));
    expect(await totals()).toEqual([{ facts: '1', tokens: '3' }]);
  });
  it('name everybody who mentioned a fact once', async () => {
    await apply(recorded('f1', 'x', 'y'));
    await apply(mentioned('f1', 'a2', 2));
    await apply(mentioned('f1', 'a3', 3));
    await apply(mentioned('f1', 'a2', 4));
    const row = await t.db.selectFrom('facts').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ confidence: 0.65, mention_count: 4, mentioned_by_agent_ids: ['a2', 'a3'] });
  });
});

describe('links', () => {
  it('lead both ways, to active facts of the scope alone, the heaviest first', async () => {
    for (const id of ['f1', 'f2', 'f3', 'f4']) await apply(recorded(id, id, `content of ${id}`));
    await apply(recorded('f5', 'x', 'hidden', { domain: 'secret' }), recorded('f6', 'y', 'old', { valid_until: now }));
    await apply(linked('f1', 'f2', 0.4), linked('f3', 'f1', 0.9), linked('f1', 'f4', 0.5));
    await apply(linked('f1', 'f5', 1), linked('f1', 'f6', 1), superseded('f4', 'f3'));
    expect(await neighbours(t.db, ['f1'], { now, domains: ['auth-flow'] }, 9)).toEqual([
      { from: 'f1', id: 'f3', weight: 0.9 },
      { from: 'f1', id: 'f2', weight: 0.4 },
    ]);
  });
});

it('gives no candidate that is superseded, expired or out of the scope', async () => {
  await three();
  await apply(recorded('f4', 'x', 'y', { valid_until: now }), superseded('f2', 'f1'));
  const found = await candidates(t.db, ['f1', 'f2', 'f3', 'f4', 'f9'], { now, domains: ['auth-flow'] });
  expect([...found.keys()]).toEqual(['f1']);
});
