import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { listen } from '../testing/listen.js';

const tool = (name: string, more: object = {}) => ({ name, scope: 'mcp:a:use', description: `Does ${name}.`, ...more });

let a: TestBackend;
let b: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  a = await testBackend();
  b = await testBackend([{ ...tool('steady'), scope: 'mcp:b:use' }]);
  edge = await startEdge({
    beside: [],
    env: backendEnv(
      { a, b },
      {
        CORTEX_BACKEND_A_TIMEOUT_MS: '500',
        CORTEX_BACKEND_B_EVENT_TOKEN: 'event-token',
        CORTEX_BACKEND_A_EVENT_TOKEN: 'token-of-a',
        CORTEX_BACKEND_B_PREFIX: 'none',
        CORTEX_ALLOW_UNPREFIXED: 'true',
      },
    ),
  });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:a:use mcp:a:more mcp:b:use' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await a[Symbol.asyncDispose]();
  await b[Symbol.asyncDispose]();
});
beforeEach(() => {
  a.tools = [tool('one')];
  for (const name of Object.keys(a.answers)) if (name !== 'list_tools') Reflect.deleteProperty(a.answers, name);
});

interface Listed {
  name: string;
  title?: string;
  description: string;
  _meta: Record<string, unknown>;
}
const refresh = () => edge.edge.federation.refresh('a');
const listed = async (): Promise<Listed[]> =>
  ((await edge.ask('tools/list', {}, { token })).body.result.tools as Listed[]).filter(({ _meta }) => _meta?.['app']);
const names = async () => (await listed()).map(({ name }) => name);
const one = async (name: string) => (await listed()).find((found) => found.name === name);
const logged = (text: string) => edge.app.log.filter((line) => line.includes(text));

describe('a declaration', () => {
  it('P35 P39 reaches the client as it was written, with all that is not ours to say', async () => {
    const schema =
      '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"10":{"type":"number","maximum":1.0},"2":{"const":12345678901234567890}},"properties":{"x":{"$ref":"#/$defs/10"}},"x-unknown":[1e2]}';
    a.answers['list_tools'] = (_asked, res) =>
      void res.end(
        `{"tools": [ {"name":"full","scope":"mcp:a:use","description":"F; — ü.","inputSchema": ${schema}, "title":"T","annotations":{"readOnlyHint":true,"x":1.0},"unknown":{"n":2.50},"version":"3.0.0","_meta":{"own":[1.0],"cortex/name":"whoami","app":"gateway"},"icons":[{"src":"https://x.example/i.png"},{"src":"javascript:alert(1)"}]} ]}`,
      );
    await refresh();
    const text = (await edge.ask('tools/list', {}, { token })).text;
    expect(text).toContain(`"inputSchema":${schema}`);
    expect(text).toContain('"annotations":{"readOnlyHint":true,"x":1.0}');
    expect(text).toContain('"unknown":{"n":2.50}');
    expect(text).toContain('"icons":[{"src":"https://x.example/i.png"}]');
    expect(text).toContain('"_meta":{"version":"3.0.0","app":"a","cortex/name":"full","own":[1.0]}');
    expect(await one('a_full')).toMatchObject({ title: 'T', description: '[a] F; — ü.' });
    expect(text).not.toContain('"scope"');
    a.answers['list_tools'] = () => ({ tools: a.tools });
  });

  it('P44 with a name that does not fit is known by another, with the original as its title, and called by the original', async () => {
    a.tools = [tool('Automowers Status'), tool('天气.查询', { title: 'Weather' })];
    a.answers['Automowers Status'] = () => 'mowing';
    await refresh();
    const [mower, weather] = await listed();
    expect(mower).toMatchObject({ title: 'Automowers Status', _meta: { 'cortex/name': 'Automowers Status' } });
    expect(mower!.name).toMatch(/^a_Automowers_Status_[0-9a-f]{8}$/);
    expect(weather).toMatchObject({ title: 'Weather', name: expect.stringMatching(/^a_tool_[0-9a-f]{8}$/) });
    const { result } = (await edge.call(mower!.name, {}, { token })).body;
    expect(result.content).toEqual([{ type: 'text', text: 'mowing' }]);
    expect((await edge.call('a_Automowers Status', {}, { token })).body.error.message).toContain('Unknown tool');
  });

  it('that is deprecated says so, and what to use', async () => {
    a.tools = [tool('old', { deprecated: { removedAt: '2027-01-01', replacedBy: 'one' } }), tool('one')];
    await refresh();
    expect((await one('a_old'))!.description).toBe('[a] [DEPRECATED — removal 2027-01-01, use a_one] Does old.');
  });

  it.each<[string, unknown]>([
    ['under the scope of another', tool('bad', { scope: 'mcp:b:use' })],
    ['under a scope of Cortex', tool('bad', { scope: 'mcp:cortex:read' })],
    ['with two scopes in one', tool('bad', { scope: 'mcp:a:use mcp:cortex:admin' })],
    ['without a scope', tool('bad', { scope: undefined })],
    ['without a description', tool('bad', { description: '' })],
    ['without a name', { scope: 'mcp:a:use', description: 'x' }],
    ['with a name that is too long', tool('x'.repeat(129))],
    ['with a line break in its name', tool('a\nb')],
    ['T23 with the name of a tool of the gateway', tool('whoami')],
    ['that is no object', 'bad'],
  ])('%s is left out, and costs no other', async (_how, bad) => {
    a.tools = [bad as object, tool('good')];
    await refresh();
    expect(await names()).toEqual(['a_good', 'steady']);
  });

  it('that is there twice counts once', async () => {
    a.tools = [tool('twice', { description: 'first' }), tool('twice', { description: 'second' })];
    await refresh();
    expect(await listed()).toMatchObject([{ name: 'a_twice', description: '[a] first' }, { name: 'steady' }]);
    expect(logged('tool \\"twice\\" is declared twice')).toHaveLength(1);
  });

  it('T23 never takes the name of an own tool, whatever its prefix is', async () => {
    b.tools = [
      { ...tool('list_my_tools'), scope: 'mcp:b:use' },
      { ...tool('create_ticket'), scope: 'mcp:b:use' },
      { ...tool('steady'), scope: 'mcp:b:use' },
    ];
    await edge.edge.federation.refresh('b');
    // The first is a built-in's name and hidden; the second belongs to a tool that a mode may let pass.
    const of = (await listed()).filter(({ _meta }) => _meta['app'] === 'b').map(({ name }) => name);
    expect(of).not.toContain('list_my_tools');
    expect(of).not.toContain('create_ticket');
    expect(of).toContain('steady');
    b.tools = [{ ...tool('steady'), scope: 'mcp:b:use' }];
    await edge.edge.federation.refresh('b');
  });
});

describe('a refresh', () => {
  it('that meets nothing new tells nobody and makes no new catalogue', async () => {
    await refresh();
    await using stream = await listen(edge, token);
    const { version } = edge.edge.catalog;
    const { current } = edge.edge.federation;
    const before = edge.edge.catalog.find('a_one');
    for (let i = 0; i < 3; i++) await refresh();
    expect(edge.edge.catalog.version).toBe(version);
    expect(edge.edge.federation.current).toBe(current);
    expect(edge.edge.catalog.find('a_one')).toBe(before);
    a.tools = [tool('one', { description: 'Changed.' })];
    await refresh();
    await eventually(() => stream.events.some(({ method }) => method === 'notifications/tools/list_changed'));
    expect(edge.edge.catalog.version).toBe(version + 1);
    expect(stream.events.filter(({ method }) => method === 'notifications/tools/list_changed')).toHaveLength(1);
  });

  it('P63 is told to nobody who does not see the change', async () => {
    await refresh();
    await using stream = await listen(edge, await edge.token({ scope: 'mcp:b:use' }));
    a.tools = [tool('other')];
    await refresh();
    expect(await names()).toContain('a_other');
    expect(stream.events.filter(({ method }) => method === 'notifications/tools/list_changed')).toEqual([]);
  });

  it('P26 asked for 200 times at once runs once and once more', async () => {
    await refresh();
    const before = a.asked.filter(({ method }) => method === 'list_tools').length;
    await Promise.all(Array.from({ length: 200 }, refresh));
    expect(a.asked.filter(({ method }) => method === 'list_tools').length).toBe(before + 2);
  });

  it('P29 P30 that one backend does not answer takes its items alone, and holds up no call of another', async () => {
    await refresh();
    a.answers['list_tools'] = () => undefined;
    b.answers['steady'] = () => 'here';
    const hung = refresh();
    expect((await edge.call('steady', {}, { token })).body.result.content[0].text).toBe('here');
    await hung;
    expect(await names()).toEqual(['steady']);
    expect(edge.edge.federation.shelves.get('a')?.problem).toBe('no answer within 500 ms');
    expect((await edge.call('a_one', {}, { token })).body.error).toMatchObject({ code: -32602 });
    a.answers['list_tools'] = () => ({ tools: a.tools });
    await refresh();
    expect(await names()).toEqual(['a_one', 'steady']);
  });

  it.each<[string, TestBackend['answers'][string]]>([
    ['HTML', (_asked, res) => void res.end('<html>')],
    ['500', (_asked, res) => json(res, 500, {})],
    ['no list', () => ({ tools: 'many' })],
    ['a list alone', () => []],
  ])('that is answered with %s is a failed one', async (_how, answer) => {
    a.answers['list_tools'] = answer;
    await refresh();
    expect(await names()).toEqual(['steady']);
    a.answers['list_tools'] = () => ({ tools: a.tools });
    await refresh();
  });

  it('keeps an optional list that cannot be read for once, and has none where the backend has none', async () => {
    a.answers['list_prompts'] = () => ({ prompts: [{ name: 'p', description: 'P.', scope: 'mcp:a:use' }] });
    await refresh();
    expect(edge.edge.federation.current.prompts.map(({ exposed }) => exposed)).toEqual(['a_p']);
    a.answers['list_prompts'] = (_asked, res) => json(res, 500, {});
    await refresh();
    expect(edge.edge.federation.current.prompts).toHaveLength(1);
    Reflect.deleteProperty(a.answers, 'list_prompts');
    await refresh();
    expect(edge.edge.federation.current.prompts).toEqual([]);
    expect(await names()).toContain('a_one');
  });

  it('an outage renames nothing: a name stays with whoever holds it', async () => {
    const both = () => edge.edge.federation.refresh();
    b.tools = [{ ...tool('a_shared'), scope: 'mcp:b:use' }];
    a.tools = [tool('shared')];
    await both();
    const before = await names();
    expect(before).toEqual(['a_shared', 'b_a_shared']);
    a.answers['list_tools'] = (_asked, res) => json(res, 503, {});
    await both();
    expect(await names()).toEqual(['b_a_shared']);
    a.answers['list_tools'] = () => ({ tools: a.tools });
    await both();
    expect(await names()).toEqual(before);
    b.tools = [{ ...tool('steady'), scope: 'mcp:b:use' }];
    await both();
  });

  it('P24 P27 gives two thousand tools of one backend in one page, and one more within a refresh', async () => {
    const many = Array.from({ length: 2_000 }, (_, i) => tool(`tool_${i}`));
    a.tools = many;
    await refresh();
    expect(await names()).toHaveLength(2_001);
    a.tools = [...many, tool('one_more')];
    await refresh();
    expect(await one('a_one_more')).toBeDefined();
    a.answers['tool_77'] = ({ params }) => params;
    expect((await edge.call('a_tool_77', { n: 1 }, { token })).body.result.content[0].text).toBe('{"n":1}');
  });
});

describe('what a backend tells of a change', () => {
  it('P27 with an answer is in force before its caller has that answer', async () => {
    await refresh();
    a.answers['one'] = (_asked, res) => {
      a.tools = [tool('one'), tool('two')];
      return json(res, 200, 'grown', { 'x-cortex-list-changed': 'tools' });
    };
    await edge.call('a_one', {}, { token });
    expect(await names()).toContain('a_two');
  });

  const post = (id: string, body: unknown, bearer?: string, method = 'POST') =>
    fetch(`${edge.origin}/api/backends/${id}/events`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      },
      ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const CHANGED = { events: [{ type: 'list_changed', kinds: ['tools'] }] };

  it('by itself is asked for at once', async () => {
    a.tools = [tool('told')];
    expect((await post('a', CHANGED, 'token-of-a')).status).toBe(202);
    await eventually(async () => (await names()).includes('a_told'));
  });

  it('about a resource counts for its own schemes alone', async () => {
    const heard: string[] = [];
    const stop = edge.edge.federation.onResourceUpdated((uri) => heard.push(uri));
    const events = ['b:mine', 'a:of-another', 'cortex://architecture', 'B:mine too'].map((uri) => ({
      type: 'resource_updated',
      uri,
    }));
    expect((await post('b', { events }, 'event-token')).status).toBe(202);
    expect(heard).toEqual(['b:mine', 'B:mine too']);
    stop();
  });

  it.each<[string, number, unknown, string | undefined]>([
    ['with the token of another backend', 401, CHANGED, 'token-of-a'],
    ['without a token', 401, CHANGED, undefined],
    ['that is no JSON', 400, '{', 'event-token'],
    ['that is no list', 400, { events: 1 }, 'event-token'],
    ['that nobody knows', 400, { events: [{ type: 'x' }] }, 'event-token'],
    [
      'that are more than a hundred',
      400,
      { events: Array.from({ length: 101 }, () => CHANGED.events[0]) },
      'event-token',
    ],
  ])('%s is answered %i %#', async (_how, status, body, bearer) => {
    expect((await post('b', body, bearer)).status).toBe(status);
  });

  it('is not found where a backend may not tell, or is none, and is told by POST alone', async () => {
    expect((await post('c', CHANGED, 'event-token')).status).toBe(404);
    expect((await post('b', CHANGED, 'event-token', 'GET')).status).toBe(405);
  });

  it('is taken 60 times a minute', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 61 }, async () => (await post('b', { events: [] }, 'event-token')).status),
    );
    expect(statuses).toContain(429);
    expect((await post('a', { events: [] }, 'token-of-a')).status).toBe(202);
  });
});
