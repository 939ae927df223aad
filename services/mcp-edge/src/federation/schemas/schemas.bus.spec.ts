import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../../testing/backend.js';
import { type EdgeFixture, startEdge } from '../../testing/edge-fixture.js';
import { ADMIN_SECRET, operator } from '../../testing/operator.js';

const tool = (name: string, more: object = {}) => ({ name, scope: 'mcp:demo:read', description: `${name}.`, ...more });
const NODE = { type: 'object', properties: { next: { $ref: '#/$defs/node' } } };
const PLACE =
  '{"type":"object","$defs":{"place":{"$anchor":"p","type":"object","properties":{"2":{},"1":{"maximum":9223372036854775807}}}},' +
  '"properties":{"at":{"$ref":"#p","description":"Where"}},"x-own":1.0}';

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  demo = await testBackend([
    tool('short', { params: { query: 'string', tags: 'string[]?' } }),
    tool('place', { inputSchema: '@place' }),
    tool('untyped', { inputSchema: { properties: { a: { type: 'string' } } } }),
    tool('either', { inputSchema: { type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] } }),
    tool('dangling', { inputSchema: { type: 'object', properties: { a: { $ref: '#/definitions/none' } } } }),
    tool('abroad', { inputSchema: { type: 'object', properties: { a: { $ref: 'http://127.0.0.1:1/schema' } } } }),
    tool('half', { outputSchema: { $ref: '#/none' } }),
    tool('huge', { inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/l0' } }, $defs: doubling() } }),
    tool('tree', { inputSchema: { ...NODE, $defs: { node: NODE } } }),
    tool('count', { outputSchema: { type: 'integer', $defs: { a: {} }, anyOf: [{ $ref: '#/$defs/a' }] } }),
    tool('object', { outputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } }),
  ]);
  demo.answers['list_tools'] = (_asked, res) => {
    const body = JSON.stringify({ tools: demo.tools }).replace('"@place"', PLACE);
    res.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
  demo.answers['count'] = () => 7;
  demo.answers['object'] = ({ params }) => params;
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_ADMIN_SECRET: ADMIN_SECRET }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:demo:read' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

function doubling(): object {
  const level = (i: number) => ({ properties: { a: { $ref: `#/$defs/l${i + 1}` }, b: { $ref: `#/$defs/l${i + 1}` } } });
  return { ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`l${i}`, level(i)])), l12: {} };
}

type Listed = { name: string; inputSchema: object; outputSchema?: object; _meta: Record<string, object> };
const list = (headers: Record<string, string> = {}, more: object = {}) =>
  edge.ask('tools/list', {}, { token, headers, ...more });
const listed = async (headers: Record<string, string> = {}): Promise<Listed[]> =>
  (await list(headers)).body.result.tools;
const one = async (name: string, headers: Record<string, string> = {}): Promise<Listed | undefined> =>
  (await listed(headers)).find((found) => found.name === `demo_${name}`);
const inProfile = (profile: string) => ({ 'x-cortex-schema-profile': profile });
const legacy = async (method: string, params: object, headers: Record<string, string> = {}) => {
  const response = await edge.post(
    { jsonrpc: '2.0', id: 1, method, params },
    { authorization: `Bearer ${token}`, 'mcp-protocol-version': '2025-11-25', ...headers },
  );
  return response;
};

describe('the schemas of a backend', () => {
  it('P35 P39 reach a client byte for byte', async () =>
    expect((await list()).text).toContain(`"inputSchema":${PLACE}`));
  it('are made of the shorthand where there is no other', async () =>
    expect(await one('short')).toMatchObject({
      inputSchema: {
        type: 'object',
        properties: { query: { type: 'string' }, tags: { type: 'array' } },
        required: ['query'],
      },
    }));
  it('get the type that the protocol wants, and say so', async () =>
    expect(await one('untyped')).toMatchObject({
      inputSchema: { type: 'object', properties: { a: { type: 'string' } } },
      _meta: { 'cortex/schema': { repaired: expect.any(String) } },
    }));
  it('P34 cost their own tool alone when they are at fault, and an output schema itself alone', async () => {
    const names = (await listed()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['demo_half', 'demo_place', 'demo_object']));
    expect(names.filter((name) => ['demo_dangling', 'demo_abroad'].includes(name))).toEqual([]);
    expect(await one('half')).not.toHaveProperty('outputSchema');
    const { body } = await operator(edge, 'GET', 'tool-integrity');
    const fault = { backend: 'demo', detail: expect.any(String) };
    expect(body.schemaFaults).toEqual([
      { ...fault, tool: 'dangling', part: 'inputSchema', reason: 'dangling_reference', pointer: '/properties/a' },
      { ...fault, tool: 'abroad', part: 'inputSchema', reason: 'network_reference', pointer: '/properties/a' },
      { ...fault, tool: 'half', part: 'outputSchema', reason: 'dangling_reference', pointer: '' },
    ]);
  });
  it('are told once, and offered as soon as they are mended', async () => {
    const before = demo.tools;
    const good = tool('dangling', { inputSchema: { type: 'object' }, outputSchema: { type: 'object' } });
    demo.tools = before.map((one) => ((one as { name: string }).name === 'dangling' ? good : one));
    await edge.edge.federation.refresh();
    expect(await one('dangling')).toMatchObject({ outputSchema: { type: 'object' } });
    expect((await operator(edge, 'GET', 'tool-integrity')).body.schemaFaults).toHaveLength(2);
    demo.tools = before;
    await edge.edge.federation.refresh();
    expect(await one('dangling')).toBeUndefined();
    expect((await operator(edge, 'GET', 'tool-integrity')).body.schemaFaults).toHaveLength(3);
  });
  it('are counted by backend and reason when they are at fault', async () => {
    const text = await (await fetch(`${edge.origin}/metrics`)).text();
    expect(text).toContain('gw_schema_faults{backend="demo",reason="dangling_reference"} 2');
    expect(text).toContain('gw_schema_faults{backend="demo",reason="network_reference"} 1');
  });
});

describe('a schema profile', () => {
  it('P31 P33 is asked for by header, and by the query of the URL', async () => {
    expect(await one('either', inProfile('flat'))).toMatchObject({
      inputSchema: { type: 'object', description: 'Give at least one of these groups: a; or b.' },
    });
    expect(await one('place', inProfile('inline'))).toMatchObject({
      inputSchema: { properties: { at: { description: 'Where', allOf: [{ type: 'object' }] } } },
    });
    const url = `${edge.url}?schema=flat`;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });
    expect(await response.text()).toContain('Give at least one of these groups');
  });
  it('says what it changed and what has no such form, which stays everywhere else and can be called', async () => {
    const { body } = await list(inProfile('basic'));
    const account = body.result._meta['cortex/schemaProfile'];
    expect(account).toMatchObject({ profile: 'basic', omitted: ['demo_huge'] });
    expect(account.changed).toEqual(expect.arrayContaining(['demo_either', 'demo_place', 'demo_tree']));
    expect(account.changed).not.toContain('demo_short');
    expect(body.result.tools.map(({ name }: Listed) => name)).not.toContain('demo_huge');
    expect(await one('huge', inProfile('strip'))).toBeDefined();
    expect(await one('huge')).toBeDefined();
    expect((await list()).body.result._meta).not.toHaveProperty('cortex/schemaProfile');
    demo.answers['huge'] = () => 'called';
    expect((await edge.call('demo_huge', {}, { token })).body.result.content[0].text).toBe('called');
  });
  it.each(['modern', 'sdk', 'legacy'])('is refused with the known ones where nobody knows it (%s)', async (lane) => {
    const answer =
      lane === 'legacy'
        ? await legacy('tools/list', {}, inProfile('simple'))
        : await list(inProfile('simple'), { sdk: lane === 'sdk' });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: -32602,
      data: { profiles: expect.arrayContaining(['basic', 'original']) },
    });
    // Other requests do not look at it.
    expect((await edge.call('demo_short', { query: 'x' }, { token, headers: inProfile('simple') })).status).toBe(200);
  });
  it('is the form of find_tools too', async () => {
    const found = await edge.call(
      'find_tools',
      { names: ['demo_either', 'demo_huge'] },
      { token, headers: inProfile('basic') },
    );
    expect(found.body.result.structuredContent.tools).toMatchObject([
      { name: 'demo_either', inputSchema: { description: 'Give at least one of these groups: a; or b.' } },
    ]);
  });
  it('combines with search mode, in which lines have no schema to change', async () => {
    const { body } = await list({ ...inProfile('basic'), 'x-cortex-tool-mode': 'search' });
    expect(body.result.tools.find(({ name }: Listed) => name === 'demo_huge')).toMatchObject({
      inputSchema: { type: 'object' },
    });
  });
});

describe('a result', () => {
  it('P36 that fits its schema goes through as it is', async () =>
    expect((await edge.call('demo_object', { n: 1 }, { token })).body.result).toMatchObject({
      structuredContent: { n: 1 },
    }));
  it('P37 that does not fit is passed on with a note, and counted', async () => {
    const { result } = await eventually(async () => {
      const { body } = await edge.call('demo_object', { n: 'x' }, { token });
      if (body.result._meta['cortex/schema'] === undefined) throw new Error('it was not checked in time');
      return body;
    });
    expect(result).toMatchObject({
      structuredContent: { n: 'x' },
      _meta: { 'cortex/schema': { mismatch: expect.stringContaining('/n must be integer') }, 'cortex/provenance': {} },
    });
    expect(await (await fetch(`${edge.origin}/metrics`)).text()).toMatch(
      /gw_result_mismatches_total{backend="demo"} [1-9]/,
    );
  });
  it('P38 with an error loses a structured part that does not fit', async () => {
    demo.answers['object'] = (_asked, res) =>
      json(
        res,
        200,
        { content: [{ type: 'text', text: 'no' }], structuredContent: { n: 'x' }, isError: true },
        { 'x-cortex-result': 'mcp' },
      );
    const { body } = await edge.call('demo_object', {}, { token });
    demo.answers['object'] = ({ params }) => params;
    expect(body.result).toMatchObject({ isError: true, content: [{ text: 'no' }] });
    expect(body.result).not.toHaveProperty('structuredContent');
  });
  it('P32 that is no object is wrapped, like its schema, where a revision wants an object', async () => {
    expect((await one('count'))?.outputSchema).toMatchObject({ type: 'integer' });
    expect((await edge.call('demo_count', {}, { token })).body.result.structuredContent).toBe(7);
    const { body } = await legacy('tools/list', {});
    expect(body.result.tools.find(({ name }: Listed) => name === 'demo_count').outputSchema).toEqual({
      type: 'object',
      properties: { result: { type: 'integer', $defs: { a: {} }, anyOf: [{ $ref: '#/properties/result/$defs/a' }] } },
      required: ['result'],
    });
    const called = await legacy('tools/call', { name: 'demo_count', arguments: {} });
    expect(called.body.result.structuredContent).toEqual({ result: 7 });
    expect(
      (await legacy('tools/call', { name: 'demo_object', arguments: { n: 1 } })).body.result.structuredContent,
    ).toEqual({ n: 1 });
  });
});
