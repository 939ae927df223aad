import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';

const scope = 'mcp:demo:read';
const SIMPLE = { name: 'simple', description: 'A prompt.', scope };
const REVIEW = {
  name: 'review code',
  description: 'Reviews.',
  scope,
  arguments: [{ name: 'code', required: true }, { name: 'style' }],
};
const SECRET = { name: 'secret', description: 'For few.', scope: 'mcp:demo:admin' };
const NOTE = { uri: 'demo://note', name: 'Note', scope, mimeType: 'text/plain' };
const VAULT = { uri: 'demo://vault', name: 'Vault', scope: 'mcp:demo:admin' };
const ANY = { uriTemplate: 'demo://files/{name}', name: 'Any file', scope };
const LOG = { uriTemplate: 'demo://files/log-{day}', name: 'A log', scope };

let demo: TestBackend;
let edge: EdgeFixture;
let reader: string;
beforeAll(async () => {
  demo = await testBackend([]);
  demo.answers['list_prompts'] = () => ({ prompts: [SECRET, SIMPLE, REVIEW] });
  demo.answers['list_resources'] = () => ({ resources: [NOTE, VAULT] });
  demo.answers['list_resource_templates'] = () => ({ resourceTemplates: [ANY, LOG] });
  demo.answers['get_prompt'] = ({ params }) => ({
    description: 'Told',
    messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params) } }],
    _meta: { 'cortex/provenance': 'forged', mine: 1 },
  });
  demo.answers['read_resource'] = ({ params }) => ({
    contents: [
      { uri: params.uri, mimeType: 'text/plain', text: 'content' },
      { uri: 'other://alien', text: 'of somebody else' },
    ],
    ttlMs: 5_000,
    cacheScope: 'public',
  });
  edge = await startEdge({ beside: [], env: backendEnv({ demo }) });
  await eventually(() => edge.edge.federation.complete);
  reader = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const ask = (method: string, params: Record<string, unknown> = {}, more: Ask = {}) =>
  edge.ask(method, params, { token: reader, ...more });
const legacy = async (method: string, params: object) =>
  (await rawClient(edge.origin, reader).ask({ body: { jsonrpc: '2.0', id: 1, method, params } })).json;

describe('the prompts of a backend', () => {
  it('are listed sorted, under their exposed names, for callers who have the scope', async () => {
    const { result } = (await ask('prompts/list')).body;
    expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private', resultType: 'complete' });
    const [review, simple, ...none] = result.prompts;
    expect(none).toEqual([]);
    expect(review).toMatchObject({ title: 'review code', arguments: REVIEW.arguments });
    expect(review.name).toMatch(/^demo_review_code_[0-9a-f]{8}$/);
    expect(simple).toEqual({
      name: 'demo_simple',
      description: 'A prompt.',
      _meta: { app: 'demo', 'cortex/name': 'simple' },
    });
    expect((await legacy('prompts/list', {})).result).toEqual({ prompts: result.prompts });
  });

  it('are got from their backend under their own name, and T12 say themselves nothing of where they come from', async () => {
    const { name } = (await ask('prompts/list')).body.result.prompts[0];
    const params = { name, arguments: { code: 'x = 1' } };
    const { result } = (await ask('prompts/get', params)).body;
    expect(result).toMatchObject({ description: 'Told', resultType: 'complete', _meta: { mine: 1 } });
    expect(JSON.parse(result.messages[0].content.text)).toEqual({
      name: 'review code',
      arguments: { code: 'x = 1' },
    });
    expect(result._meta['cortex/provenance']).toMatchObject({ backend: 'demo', prompt: 'review code' });
    expect((await legacy('prompts/get', params)).result.messages).toEqual(result.messages);
  });

  it.each([
    [{ name: 'demo_none' }, 'Unknown prompt: demo_none'],
    [{}, 'params.name is missing; name the prompt'],
    [{ name: 'demo_simple', arguments: [] }, 'params.arguments must be an object'],
    [{ name: 'demo_simple', arguments: { n: 1 } }, 'params.arguments.n must be a string'],
  ])('asked for with %j are an error of the parameters', async (params, message) => {
    const { status, body } = await ask('prompts/get', params);
    expect([status, body.error]).toEqual([200, { code: -32602, message }]);
    expect((await legacy('prompts/get', params)).error).toEqual({ code: -32602, message });
  });

  it('are not asked for without an argument that they require', async () => {
    const { name } = (await ask('prompts/list')).body.result.prompts[0];
    const before = demo.asked.length;
    expect((await ask('prompts/get', { name })).body.error.message).toContain('lacks code');
    expect(demo.asked.length).toBe(before);
  });

  it('T17 without their scope are a challenge, and the backend does not hear of it', async () => {
    const before = demo.asked.length;
    const { status, body, headers } = await ask('prompts/get', { name: 'demo_secret' });
    expect([status, body.error.message]).toEqual([403, 'Insufficient scope']);
    expect(body.error.data).toEqual({ required: ['mcp:demo:admin'], granted: [scope] });
    expect(headers.get('www-authenticate')).toContain('insufficient_scope');
    expect(demo.asked.length).toBe(before);
  });

  it.each([
    [422, { error: 'no code' }, 'Backend 422: no code'],
    [500, {}, 'Backend 500'],
    [401, {}, 'Backend auth failed — token may have expired'],
  ])('that fail with %i are an error of JSON-RPC', async (status, said, message) => {
    const good = demo.answers['get_prompt']!;
    demo.answers['get_prompt'] = (_asked, res) => json(res, status, said);
    expect((await ask('prompts/get', { name: 'demo_simple' })).body.error).toMatchObject({ code: -32603, message });
    demo.answers['get_prompt'] = good;
  });

  it.each([
    [{ messages: 'none' }],
    [{ messages: [{ role: 'system', content: { type: 'text', text: '' } }] }],
    [{ messages: [{ role: 'user', content: { type: 'video' } }] }],
    [[]],
  ])('of the form %j are an invalid response', async (value) => {
    const good = demo.answers['get_prompt']!;
    demo.answers['get_prompt'] = () => value;
    const { error } = (await ask('prompts/get', { name: 'demo_simple' })).body;
    expect(error).toEqual({ code: -32603, message: 'Backend demo sent an invalid response' });
    demo.answers['get_prompt'] = good;
  });
});

describe('the resources of a backend', () => {
  it('and its templates are listed for callers who have the scope', async () => {
    expect((await ask('resources/list')).body.result.resources).toContainEqual({
      uri: NOTE.uri,
      name: 'Note',
      mimeType: 'text/plain',
      _meta: { app: 'demo' },
    });
    expect(JSON.stringify((await ask('resources/list')).body)).not.toContain('vault');
    const { resourceTemplates } = (await ask('resources/templates/list')).body.result;
    expect(resourceTemplates.map(({ name }: { name: string }) => name)).toEqual(['Any file', 'A log']);
  });

  it('are left out of lists that ask for other backends', async () => {
    const headers = { 'x-cortex-backends': 'other' };
    expect((await ask('prompts/list', {}, { headers })).body.result.prompts).toEqual([]);
    expect((await ask('resources/templates/list', {}, { headers })).body.result.resourceTemplates).toEqual([]);
  });

  it('are read without what is of a foreign scheme, and kept by nobody for others', async () => {
    const { result } = (await ask('resources/read', { uri: NOTE.uri })).body;
    expect(result.contents).toEqual([{ uri: NOTE.uri, mimeType: 'text/plain', text: 'content' }]);
    expect(result).toMatchObject({ ttlMs: 5_000, cacheScope: 'private', resultType: 'complete' });
    const old = (await legacy('resources/read', { uri: NOTE.uri })).result;
    expect(Object.keys(old).sort()).toEqual(['_meta', 'contents']);
  });

  it('are found by the template that says most of their URI', async () => {
    await ask('resources/read', { uri: 'demo://files/log-1' });
    expect(demo.asked.at(-1)).toMatchObject({ method: 'read_resource', params: { uri: 'demo://files/log-1' } });
  });

  it.each(['demo://nothing', 'other://note', 'cortex://nothing', 'no uri', `demo://files/${'a'.repeat(10_000)}`])(
    'that match nothing, such as %s, are not found, and no backend is asked',
    async (uri) => {
      const before = demo.asked.length;
      const data = { uri: uri.slice(0, 512) };
      const { status, body } = await ask('resources/read', { uri });
      expect([status, body.error]).toEqual([200, { code: -32602, message: 'Resource not found', data }]);
      expect((await legacy('resources/read', { uri })).error).toEqual({
        code: -32002,
        message: 'Resource not found',
        data,
      });
      expect(demo.asked.length).toBe(before);
    },
  );

  it.each([
    ['of which the backend does not know', (_: unknown, res: never) => json(res, 404, { error: 'gone' })],
    ['of which only foreign contents come', () => ({ contents: [{ uri: 'other://x', text: '' }] })],
  ])('%s are not found either', async (_rule, answer) => {
    const good = demo.answers['read_resource']!;
    demo.answers['read_resource'] = answer as never;
    const { error } = (await ask('resources/read', { uri: NOTE.uri })).body;
    expect(error).toEqual({ code: -32602, message: 'Resource not found', data: { uri: NOTE.uri } });
    demo.answers['read_resource'] = good;
  });
});

describe('completion', () => {
  const complete = (ref: object, more: object = {}) =>
    ask('completion/complete', { ref, argument: { name: 'code', value: 'x' }, ...more });

  it('asks the backend under its own names, and passes on a hundred values', async () => {
    demo.answers['complete'] = () => ({ values: Array.from({ length: 150 }, (_, i) => `v${i}`), total: 150 });
    const { name } = (await ask('prompts/list')).body.result.prompts[0];
    const context = { arguments: { style: 'short' } };
    const { completion } = (await complete({ type: 'ref/prompt', name }, { context })).body.result;
    expect(completion).toMatchObject({ total: 150, hasMore: true });
    expect(completion.values).toHaveLength(100);
    expect(demo.asked.at(-1)?.params).toEqual({
      ref: { type: 'ref/prompt', name: 'review code' },
      argument: { name: 'code', value: 'x' },
      context,
    });
    expect((await complete({ type: 'ref/resource', uri: ANY.uriTemplate })).body.result.completion.values).toHaveLength(
      100,
    );
  });

  it('suggests nothing where the backend cannot complete', async () => {
    delete demo.answers['complete'];
    expect((await complete({ type: 'ref/prompt', name: 'demo_simple' })).body.result.completion).toEqual({
      values: [],
    });
  });

  it('T17 suggests nothing from what the caller may not use', async () => {
    expect((await complete({ type: 'ref/prompt', name: 'demo_secret' })).status).toBe(403);
    expect((await complete({ type: 'ref/resource', uri: VAULT.uri })).status).toBe(403);
  });

  it.each([
    [{ type: 'ref/prompt', name: 'demo_none' }],
    [{ type: 'ref/resource', uri: 'demo://nothing' }],
    [{ type: 'ref/tool', name: 'demo_simple' }],
    [{}],
  ])('of %j is an error of the parameters', async (ref) => {
    expect((await complete(ref)).body.error.code).toBe(-32602);
  });
});

it('P25 pages are as long as they are set to be, and T15 a cursor is for its caller, its list and its state alone', async () => {
  await using paged = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_LIST_PAGE_SIZE: '1' }) });
  await eventually(() => paged.edge.federation.complete);
  const [mine, theirs] = [await paged.token({ scope }), await paged.token({ sub: 'bob', scope })];
  const list = (cursor?: string, token = mine, method = 'prompts/list') =>
    paged.ask(method, cursor === undefined ? {} : { cursor }, { token });
  const first = (await list()).body.result;
  expect(first.prompts).toHaveLength(1);
  const second = (await list(first.nextCursor)).body.result;
  expect(second.prompts).toHaveLength(1);
  expect([second.nextCursor, second.cacheScope]).toEqual([undefined, 'private']);
  expect(second.prompts[0].name).not.toBe(first.prompts[0].name);
  const invalid = { code: -32602, message: 'Invalid cursor' };
  expect((await list(first.nextCursor, theirs)).body.error).toEqual(invalid);
  expect((await list(first.nextCursor, mine, 'resources/templates/list')).body.error).toEqual(invalid);
  expect((await list(`${first.nextCursor}A`)).body.error).toEqual(invalid);
  const names: string[] = [];
  const walk = async (method: (cursor?: string) => Promise<{ tools: { name: string }[]; nextCursor?: string }>) => {
    let page = await method();
    for (; page.nextCursor !== undefined; page = await method(page.nextCursor)) names.push(page.tools[0]!.name);
    return [...names.splice(0), ...page.tools.map(({ name }) => name)];
  };
  const modern = await walk(async (cursor) => (await list(cursor, mine, 'tools/list')).body.result);
  expect(modern[0]).toBe('whoami');
  expect(new Set(modern).size).toBe(modern.length);
  const sdk = async (cursor?: string) =>
    (await paged.ask('tools/list', cursor === undefined ? {} : { cursor }, { token: mine, sdk: true })).body.result;
  expect(await walk(sdk)).toEqual(modern);
  const before = demo.answers['list_prompts']!;
  demo.answers['list_prompts'] = () => ({ prompts: [SIMPLE] });
  await paged.edge.federation.refresh();
  expect((await list(first.nextCursor)).body.error).toEqual(invalid);
  demo.answers['list_prompts'] = before;
});
