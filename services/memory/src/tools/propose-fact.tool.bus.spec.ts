import { eventually, startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryModule } from '../memory.module.js';
import { agent, factEvents, tellWorkspace, typesOf } from '../testing/lab.js';
import { proposeFact } from './propose-fact.tool.js';
import { searchMemory } from './search-memory.tool.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(MemoryModule);
  await tellWorkspace(app);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const fact = (content: string, more: Record<string, unknown> = {}) => ({
  domain: 'Deploys',
  topic: 'deploy target',
  content,
  ...more,
});

describe('propose_fact', () => {
  it('answers with the slug of its domain, and stores the fact under its author', async () => {
    const given = {
      domain: 'Auth flow',
      topic: ' session token TTL ',
      content: 'Sessions expire after 30 days idle.\n',
    };
    expect(await app.call(proposeFact, given)).toEqual({
      fact_id: expect.any(String),
      domain: 'auth-flow',
      domain_name: 'auth-flow',
      repo: null,
      topic: 'session token TTL',
      memory_type: 'fact',
      status: 'proposed',
      confidence: 1,
    });
    expect(await factEvents(app)).toMatchObject([
      {
        type: 'MemoryFactRecorded',
        data: {
          fact: {
            content: 'Sessions expire after 30 days idle.',
            authored_by_agent_id: 'per_1',
            authored_by_role: null,
            veracity: 'stated',
          },
        },
      },
    ]);
  });

  it('says of the same fact that it is there, more certain than before', async () => {
    const workspace = 'again';
    const first = await app.call(proposeFact, fact('It is prod.', { confidence: 0.5 }), { workspace });
    const second = await app.call(proposeFact, fact('it is PROD.', { confidence: 0.1 }), { workspace });
    expect(second).toMatchObject({ status: 'duplicate', fact_id: first.fact_id, confidence: 0.65 });
  });

  it('settles a contradiction for the stronger fact, and search shows that one alone', async () => {
    const workspace = 'contradiction';
    const call = (content: string, confidence: number) =>
      app.call(proposeFact, fact(content, { confidence }), { workspace });
    const prod = await call('The deploy target is prod', 0.5);
    const staging = await call('The deploy target is staging', 0.8);
    expect(staging).toMatchObject({ status: 'proposed', conflicts_resolved: 1 });
    const local = await call('The deploy target is local', 0.1);
    expect(local).toMatchObject({ status: 'superseded_by_conflict', conflicts_resolved: 1 });
    const found = await app.call(searchMemory, { query: 'deploy target' }, { workspace });
    expect(found.facts.map(({ id }) => id)).toEqual([staging.fact_id]);
    expect(prod.fact_id).not.toBe(staging.fact_id);
  });

  it('takes the role of the agent that speaks, whatever it says of itself', async () => {
    const told = { agent_id: 'somebody', agent_role: 'CEO', topic: 'roles' };
    await app.call(proposeFact, fact('said by an agent', told), agent('a1'));
    await app.call(proposeFact, fact('said by a stranger', told), agent('a9'));
    await app.call(proposeFact, fact('said for an agent', { agent_id: 'a1', topic: 'roles' }));
    const authors = (await factEvents(app)).flatMap((event) =>
      event.type === 'MemoryFactRecorded' && event.data.fact.topic === 'roles'
        ? [[event.data.fact.authored_by_agent_id, event.data.fact.authored_by_role]]
        : [],
    );
    expect(authors).toEqual([
      ['a1', 'coder'],
      ['a9', 'general'],
      ['a1', 'coder'],
    ]);
  });

  it.each(['r1', 'acme/api', 'acme-api'])('stores for the repository that is named by %s', async (repo) => {
    const workspace = 'w1';
    const topic = `repo by ${repo}`;
    expect(await app.call(proposeFact, fact('x y z', { repo, topic }), { workspace })).toMatchObject({
      domain: 'repo:acme-api/deploys',
      domain_name: 'deploys',
      repo: 'acme-api',
    });
  });

  it.each([
    ['a repository that is not there', { repo: 'acme/other' }, 'not_found', 'repo'],
    ['a repository of NUL', { repo: 'a\0' }, 'invalid_argument', 'repo'],
    ['an agent that is not there', { agent_id: 'a7' }, 'not_found', 'agent_id'],
    ['a role that is none', { agent_role: 'king' }, 'invalid_argument', 'agent_role'],
    ['observations that are not there', { source_observation_ids: ['o1'] }, 'not_found', 'source_observation_ids'],
    ['a time that is past', { valid_until: '2020-01-01T00:00:00Z' }, 'invalid_argument', 'valid_until'],
    ['a time that is none', { valid_until: 'tomorrow' }, 'invalid_argument', 'valid_until'],
    ['a domain without a letter', { domain: '數據' }, 'invalid_argument', 'domain'],
    ['a topic of white space', { topic: ' \n\u2003' }, 'invalid_argument', 'topic'],
    ['a topic of 121 characters', { topic: 'x'.repeat(121) }, 'invalid_argument', 'topic'],
    ['a content of 4001 characters', { content: '🎉'.repeat(4001) }, 'invalid_argument', 'content'],
    ['a content with NUL', { content: 'a\0b' }, 'invalid_argument', 'content'],
    ['more certainty than there is', { confidence: 1.01 }, 'invalid_argument', 'confidence'],
    ['a veracity that is none', { veracity: 'Stated' }, 'invalid_argument', 'veracity'],
    ['an argument that nobody knows', { contents: 'x' }, 'invalid_argument', 'contents'],
  ])('refuses %s, and makes no domain', async (_what, bad, kind, field) => {
    const workspace = 'refused';
    await expect(app.call(proposeFact, fact('fine', bad), { workspace })).rejects.toMatchObject({ kind, field });
    expect(await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.memory.refused.domain.*')).toBeNull();
  });

  it('says how long a text may be, and how long it was', async () => {
    await expect(app.call(proposeFact, fact('🎉'.repeat(4001)))).rejects.toMatchObject({
      reason: 'too_large',
      details: { limit: 4000, actual: 4001 },
    });
  });

  it('takes the longest texts there are, in any script, and gives them back in NFC', async () => {
    const workspace = 'odd';
    for (const [topic, content] of [
      ['👩‍👩‍👧‍👦'.repeat(10), '🎉'.repeat(4000)],
      ['one word', 'x'.repeat(4000)],
      ['marks', 'cafe\u0301 \u202eabc \ud800 ﷺ'],
      ['sql', "'; drop table facts; -- %_ \\ $1 :x & | ! <->"],
    ] as const) {
      await app.call(proposeFact, { domain: 'odd', topic, content }, { workspace });
    }
    const { facts } = await app.call(searchMemory, { query: 'café', mode: 'keyword' }, { workspace });
    expect(facts).toMatchObject([{ topic: 'marks', content: 'café \u202eabc \ufffd ﷺ' }]);
    const stuck = app.log.filter((line) => line.includes('a projection waits'));
    expect(stuck).toEqual([]);
  });

  it('hides a secret in the topic, as in every headline', async () => {
    const topic = 'key sk-ant-api03-abcdefghijklmnop0123';
    const proposed = await app.call(proposeFact, fact('where it is used', { topic }), { workspace: 'secret' });
    expect(proposed.topic).toBe('key [redacted:api_key]');
  });
});

describe('T85 grants', () => {
  const grant = (permission: string) =>
    app.ask('cmd', 'set_grant', { workspace_id: 'w1', domain: 'Deploys', role: 'coder', permission });
  it('keep a role from writing and from reading, and no person', async () => {
    const proposed = await app.call(proposeFact, fact('Granted words', { topic: 'grants' }), agent('a1'));
    await grant('read');
    const again = app.call(proposeFact, fact('More granted words', { topic: 'grants' }), agent('a1'));
    await expect(again).rejects.toMatchObject({
      kind: 'permission_denied',
      reason: 'memory_permission_denied',
      field: 'domain',
      details: { role: 'coder', permission: 'read' },
    });
    const search = { query: 'granted words', mode: 'keyword' as const };
    expect((await app.call(searchMemory, search, agent('a1'))).facts.map(({ id }) => id)).toEqual([proposed.fact_id]);
    await grant('none');
    await eventually(async () => expect((await app.call(searchMemory, search, agent('a1'))).facts).toEqual([]));
    expect((await app.call(searchMemory, search)).facts.map(({ id }) => id)).toEqual([proposed.fact_id]);
    expect(await app.call(proposeFact, fact('By a person', { topic: 'grants' }))).toMatchObject({ status: 'proposed' });
    await grant('write');
  });
});

describe('two proposals at once', () => {
  it('of the same fact are one fact that was mentioned by all', async () => {
    await using other = await startService(MemoryModule, { nats: app.nats, postgres: app.postgres });
    const workspace = 'race';
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 ? app : other).call(proposeFact, fact('The same fact'), { workspace, deadlineMs: 20_000 }),
      ),
    );
    expect(new Set(answers.map(({ fact_id }) => fact_id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 'proposed')).toHaveLength(1);
    const events = await factEvents(app, workspace);
    expect(typesOf(events).sort()).toEqual(
      [...Array<string>(11).fill('MemoryFactReasserted'), 'MemoryFactRecorded'].sort(),
    );
    const mentions = events.flatMap((event) => (event.type === 'MemoryFactReasserted' ? event.data.mention_count : []));
    expect(Math.max(...mentions)).toBe(12);
  });

  it('that contradict each other leave one in force', async () => {
    await using other = await startService(MemoryModule, { nats: app.nats, postgres: app.postgres });
    const workspace = 'contradicting';
    const contents = ['prod', 'staging', 'local', 'canary'].map((name) => `The deploy target is ${name}`);
    await Promise.all(
      contents.map((content, i) =>
        (i % 2 ? app : other).call(proposeFact, fact(content), { workspace, deadlineMs: 20_000 }),
      ),
    );
    const types = typesOf(await factEvents(app, workspace));
    expect(types.filter((type) => type === 'MemoryFactRecorded')).toHaveLength(4);
    expect(types.filter((type) => type === 'MemoryFactSuperseded')).toHaveLength(3);
    await eventually(async () => {
      const { facts } = await other.call(searchMemory, { query: 'deploy target' }, { workspace });
      expect(facts).toHaveLength(1);
    });
  });
});

it('a call that is sent again by its key after the service was lost has one effect and the first answer', async () => {
  const options = { workspace: 'lost', key: 'k1' };
  const strong = fact('The deploy target is prod', { confidence: 0.9 });
  await app.call(proposeFact, strong, { workspace: 'lost' });
  const weak = fact('The deploy target is staging', { confidence: 0.2 });
  const first = await app.call(proposeFact, weak, options);
  // Its answer was lost with the process; another one, which knows nothing of it, is asked again.
  await using other = await startService(MemoryModule, { nats: app.nats, postgres: app.postgres });
  expect(await other.call(proposeFact, weak, options)).toEqual(first);
  expect(first).toMatchObject({ status: 'superseded_by_conflict', conflicts_resolved: 1 });
  const recorded = typesOf(await factEvents(app, 'lost')).filter((type) => type === 'MemoryFactRecorded');
  expect(recorded).toHaveLength(2);
});
