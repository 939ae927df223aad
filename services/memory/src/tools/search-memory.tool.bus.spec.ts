import type { CommitEnvelope } from '@cortex/contracts';
import { tenantDb } from '@cortex/eventstore';
import { eventually, startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryModule } from '../memory.module.js';
import type { MemoryDb } from '../projections/tables.js';
import { tellWorkspace } from '../testing/lab.js';
import { proposeFact } from './propose-fact.tool.js';
import { searchMemory } from './search-memory.tool.js';

let app: RunningService;
let ttl: string;
let owner: string;
let target: string;
beforeAll(async () => {
  app = await startService(MemoryModule);
  await tellWorkspace(app);
  ttl = await propose(
    'auth flow',
    'session token TTL',
    'Sessions expire after 30 days idle; refresh tokens rotate on each use.',
  );
  owner = await propose('ci', 'ci owner', 'The CI pipeline owner is team platform');
  target = await propose('deploys', 'deploy target', 'deploy target is staging', { repo: 'acme/api' });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

async function propose(domain: string, topic: string, content: string, more: Record<string, unknown> = {}) {
  return (await app.call(proposeFact, { domain, topic, content, ...more })).fact_id;
}
const search = (query: string, more: Record<string, unknown> = {}, workspace = 'w1') =>
  app.call(searchMemory, { query, ...more }, { workspace });
const idsOf = async (...args: Parameters<typeof search>) => (await search(...args)).facts.map(({ id }) => id);

describe('keyword search', () => {
  it('finds by words alone, with the score of the words', async () => {
    expect(await search('refresh token rotation', { mode: 'keyword' })).toEqual({
      mode: 'keyword',
      facts: [
        {
          id: ttl,
          domain: 'auth-flow',
          domain_name: 'auth-flow',
          repo: null,
          topic: 'session token TTL',
          content: 'Sessions expire after 30 days idle; refresh tokens rotate on each use.',
          memory_type: 'fact',
          confidence: 1,
          score: expect.closeTo(1.9332, 4),
          contested: false,
          contested_by: [],
        },
      ],
      policies: [],
      count: 1,
      degraded: [],
    });
  });
  it.each(['the of and it', '& | ! <-> :* ()', "' ' -- ;", '!!!', 'a'])('finds nothing for %j', async (query) => {
    expect(await idsOf(query, { mode: 'keyword' })).toEqual([]);
  });
  it.each([
    "staging & !'x",
    'staging:*',
    '%staging_',
    "staging'; drop table facts; --",
    'STAGING\u0301? stag\u0131ng (staging)',
  ])('takes the words out of %j and nothing else', async (query) =>
    expect(await idsOf(query, { mode: 'keyword' })).toEqual([target]),
  );
  it('leaves out what is in another domain', async () => {
    const query = 'token owner target';
    expect((await idsOf(query, { mode: 'keyword' })).sort()).toEqual([ttl, owner, target].sort());
    expect(await idsOf(query, { mode: 'keyword', domain: 'CI' })).toEqual([owner]);
    expect(await idsOf(query, { mode: 'keyword', domain: 'deploys' })).toEqual([target]);
    expect(await idsOf(query, { mode: 'keyword', domain: 'repo:acme-api/deploys' })).toEqual([target]);
    expect(await idsOf(query, { mode: 'keyword', domain: 'repo:other/deploys' })).toEqual([]);
    expect(await idsOf(query, { mode: 'keyword', domain: 'nowhere' })).toEqual([]);
  });
  it('puts the facts of a repository first and leaves none out', async () => {
    const found = await idsOf('tokens sessions refresh target', { mode: 'keyword', repo: 'r1' });
    expect(found).toEqual([target, ttl]);
  });
});

describe('hybrid search', () => {
  it('is the default, and says that it cannot search by meaning', async () => {
    const found = await search('deploy target');
    expect(found).toMatchObject({ mode: 'hybrid', degraded: ['vector'] });
    expect(found.facts[0]).toMatchObject({ id: target });
  });
  it('gives the newest facts where no word tells anything', async () => {
    expect(new Set(await idsOf('the of and'))).toEqual(new Set([ttl, owner, target]));
  });
  it('records which facts it showed, and nothing when it showed none', async () => {
    const recalls = async (workspace: string) => {
      const subject = `cortex.evt.memory.${workspace}.recall.*`;
      const message = await app.host.bus.direct.last('CORTEX_EVENTS', subject);
      return message && (JSON.parse(Buffer.from(message.data).toString()) as CommitEnvelope).events;
    };
    const shown = await idsOf('deploy target', { limit: 2 });
    expect(shown).toHaveLength(2);
    expect(await recalls('w1')).toEqual([
      { type: 'MemoryFactsRecalled', version: 1, data: { fact_ids: shown, mode: 'hybrid' } },
    ]);
    expect(await idsOf('deploy target', {}, 'empty')).toEqual([]);
    expect(await recalls('empty')).toBeNull();
  });
  it('finds a fact by what it is linked to, though it has no word of the query', async () => {
    const workspace = 'graph';
    const put = async (topic: string, content: string) =>
      (await app.call(proposeFact, { domain: 'd', topic, content }, { workspace })).fact_id;
    const first = await put('gateway', 'requests pass through the Nightjar Relay');
    const second = await put('outage', 'we restarted the Nightjar Relay');
    // So many others that neither is among the newest.
    for (let i = 0; i < 31; i++) await put(`filler ${i}`, `nothing number${i} of interest${i}`);
    const found = await idsOf('gateway requests', { limit: 50 }, workspace);
    expect(found.slice(0, 2).sort()).toEqual([first, second].sort());
    expect(await idsOf('gateway requests', { mode: 'keyword' }, workspace)).toEqual([first]);
  });
});

it('semantic search falls back to the words, and says so', async () => {
  const found = await search('deploy target', { mode: 'semantic' });
  expect(found.degraded).toEqual(['vector']);
  expect(found.facts).toMatchObject([{ id: target, score: 0.016393 }]);
});

describe('the arguments', () => {
  it('limit is clamped, whatever it is', async () => {
    expect(await idsOf('token owner target', { limit: 0 })).toHaveLength(1);
    expect(await idsOf('token owner target', { limit: 1.9 })).toHaveLength(1);
    expect((await search('token owner target', { limit: 1e9 })).count).toBe(3);
    expect((await search('token owner target', { limit: 'many' })).count).toBe(3);
  });
  it.each([
    ['an empty query', { query: '  ' }, 'query'],
    ['a query of 1001 characters', { query: 'x'.repeat(1001) }, 'query'],
    ['a query with NUL', { query: 'a\0b' }, 'query'],
    ['a domain with NUL', { domain: 'repo:a\0/b' }, 'domain'],
    ['a mode that is none', { mode: 'Keyword' }, 'mode'],
    ['a domain without a letter', { domain: '!!' }, 'domain'],
  ])('%s is refused', async (_what, bad, field) => {
    await expect(search('fine', bad)).rejects.toMatchObject({ kind: 'invalid_argument', field });
  });
  it('a repository that is not there is refused, and never taken for the whole workspace', async () => {
    await expect(search('fine', { repo: 'acme/web' })).rejects.toMatchObject({ kind: 'not_found', field: 'repo' });
    await expect(search('fine', { repo: 'r1' }, 'w2')).rejects.toMatchObject({ kind: 'not_found', field: 'repo' });
  });
});

it('a fact is gone from the moment it expires', async () => {
  const valid_until = new Date(Date.now() + 1500).toISOString();
  const id = await propose('short', 'ephemeral', 'quicksilver', { valid_until });
  expect(await idsOf('quicksilver', { mode: 'keyword' })).toEqual([id]);
  await eventually(async () => expect(await idsOf('quicksilver', { mode: 'keyword' })).toEqual([]));
});

describe('T85 another workspace', () => {
  it('finds none of these facts, by words, by newness, by domain or by repository', async () => {
    for (const mode of ['keyword', 'semantic', 'hybrid']) {
      expect(await search('refresh token owner target', { mode }, 'w2')).toMatchObject({ facts: [], count: 0 });
      expect(await search('token', { mode, domain: 'auth-flow' }, 'w2')).toMatchObject({ facts: [], count: 0 });
    }
  });
  it('does not weigh words by these facts', async () => {
    const call = { domain: 'd', topic: 'alone', content: 'rotate tokens' };
    await app.call(proposeFact, call, { workspace: 'w3' });
    const [hit] = (await search('rotate', { mode: 'keyword' }, 'w3')).facts;
    expect(hit!.score).toBeCloseTo(Math.log(4 / 3), 6);
  });
  it('reads no row of them, whatever a query asks for', async () => {
    const tables = [
      'agents',
      'repos',
      'domains',
      'grants',
      'facts',
      'fact_terms',
      'fact_links',
      'fact_totals',
    ] as const;
    const other = tenantDb<MemoryDb>(app.host.pool, 'w2');
    for (const table of tables) {
      expect(await other.selectFrom(table).selectAll().where('workspace_id', '=', 'w1').execute()).toEqual([]);
    }
    const own = await tenantDb<MemoryDb>(app.host.pool, 'w1').selectFrom('facts').select('workspace_id').execute();
    expect(new Set(own.map(({ workspace_id }) => workspace_id))).toEqual(new Set(['w1']));
  });
});
