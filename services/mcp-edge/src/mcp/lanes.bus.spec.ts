import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let edge: EdgeFixture;
let reader: string;
beforeAll(async () => {
  edge = await startEdge();
  reader = await edge.token({ sub: 'bob', scope: 'mcp:cortex:read' });
});
afterAll(async () => edge[Symbol.asyncDispose]());

/** What differs between any two requests is taken out. */
const comparable = (body: unknown): unknown =>
  JSON.parse(
    JSON.stringify(body)
      .replaceAll(/"(call_id|servedAt)":"[^"]+"/g, '"$1":"…"')
      .replaceAll(/\(call [^)]+\)/g, '(call …)'),
  ) as unknown;

describe('both lanes answer alike', () => {
  const requests: [rule: string, method: string, params: Record<string, unknown>, ask?: () => Ask][] = [
    ['a call', 'tools/call', { name: 'sample_echo', arguments: { text: 'a "quoted" ünicode \u2028 text' } }],
    ['a call with a text id', 'tools/call', { name: 'sample_echo', arguments: { text: 'x' } }, () => ({ id: '1' })],
    [
      'a call with an id beyond ASCII',
      'tools/call',
      { name: 'sample_echo', arguments: { text: 'ü日' } },
      () => ({ id: 'é日😀' }),
    ],
    ['a call with a number id', 'tools/call', { name: 'sample_echo', arguments: { text: 'x' } }, () => ({ id: 0 })],
    ['a call of 100 KB', 'tools/call', { name: 'sample_echo', arguments: { text: 'y'.repeat(100_000) } }],
    ['a call without arguments', 'tools/call', { name: 'whoami' }],
    ['a call with the client prefix', 'tools/call', { name: 'mcp__cortex__sample_echo', arguments: { text: 'x' } }],
    ['a result that is an error', 'tools/call', { name: 'sample_fail', arguments: { how: 'is_error' } }],
    ['an error of the service', 'tools/call', { name: 'sample_fail', arguments: { how: 'unavailable' } }],
    ['a bug of the service', 'tools/call', { name: 'sample_fail', arguments: { how: 'bug' } }],
    ['an unknown tool', 'tools/call', { name: 'sample_eko', arguments: {} }],
    ['an unknown argument', 'tools/call', { name: 'sample_echo', arguments: { text: 'x', tymes: 2 } }],
    ['a wrong type', 'tools/call', { name: 'sample_echo', arguments: { text: 7 } }],
    ['arguments that are no object', 'tools/call', { name: 'sample_echo', arguments: [] }],
    ['a missing scope', 'tools/call', { name: 'sample_slow', arguments: { ms: 0 } }, () => ({ token: reader })],
    ['a tool that must be asked about', 'tools/call', { name: 'sample_risky', arguments: { path: 'x' } }],
    ['the list', 'tools/list', {}],
    ['the list of somebody else', 'tools/list', {}, () => ({ token: reader })],
    ['the list in search mode', 'tools/list', {}, () => ({ headers: { 'x-cortex-tool-mode': 'search' } })],
    ['the list of the built-ins', 'tools/list', {}, () => ({ headers: { 'x-cortex-backends': '' } })],
    ['a cursor that nobody gave out', 'tools/list', { cursor: 'x' }],
  ];
  it.each(requests)('%s', async (_rule, method, params, ask = () => ({})) => {
    const fast = await edge.ask(method, params, ask());
    const sdk = await edge.ask(method, params, { ...ask(), sdk: true });
    expect(comparable(fast.body)).toEqual(comparable(sdk.body));
    expect([fast.status, fast.headers.get('www-authenticate'), fast.headers.get('content-type')]).toEqual([
      sdk.status,
      sdk.headers.get('www-authenticate'),
      sdk.headers.get('content-type'),
    ]);
  });
});

describe("the rest of the modern era, by the SDK's entry", () => {
  it('server/discover tells versions, capabilities and instructions', async () => {
    const { body } = await edge.ask('server/discover');
    expect(body.result).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true },
        logging: {},
        completions: {},
      },
      instructions: expect.stringContaining('whoami'),
      ttlMs: 60_000,
      cacheScope: 'private',
    });
  });
  it.each([
    ['prompts/list', {}, { prompts: [], ttlMs: 60_000, cacheScope: 'private', resultType: 'complete' }],
    ['resources/list', {}, { resources: [{ uri: 'cortex://architecture' }], ttlMs: 60_000, cacheScope: 'private' }],
    ['resources/templates/list', {}, { resourceTemplates: [], ttlMs: 60_000, cacheScope: 'private' }],
  ])('%s holds what is Cortex`s own and says how long that holds', async (method, params, result) => {
    expect((await edge.ask(method, params)).body.result).toMatchObject(result);
  });
  it.each([
    ['prompts/get', { name: 'nope' }, { code: -32602, message: 'Unknown prompt: nope' }],
    ['resources/read', { uri: 'x://y' }, { code: -32602, message: 'Resource not found', data: { uri: 'x://y' } }],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'nope' }, argument: { name: 'a', value: '' } },
      { code: -32602 },
    ],
  ])('%s of what is not there is an error of the protocol', async (method, params, error) => {
    const { status, body } = await edge.ask(method, params);
    expect([status, body.error]).toEqual([200, expect.objectContaining(error)]);
  });
  it('leaves a record of each request', async () => {
    await edge.ask('server/discover');
    const records = await edge.records();
    expect(records).toContainEqual(
      expect.objectContaining({
        type: 'RequestRecorded',
        method: 'server/discover',
        outcome: 'succeeded',
        caller_sub: 'alice',
      }),
    );
    expect(records).toContainEqual(
      expect.objectContaining({
        type: 'RequestRecorded',
        method: 'tools/list',
        tools_listed: expect.any(Number),
        tokens_estimate: expect.any(Number),
      }),
    );
  });
});

describe('tools/list', () => {
  it('begins with whoami and shows what the scopes permit, find_tools in search mode only', async () => {
    const names = async (ask: Ask = {}) =>
      (await edge.ask('tools/list', {}, ask)).body.result.tools.map((tool: { name: string }) => tool.name);
    const all = await names();
    expect(all[0]).toBe('whoami');
    expect(all).toContain('sample_slow');
    expect(all).not.toContain('sample_session');
    expect(all).not.toContain('find_tools');
    expect(await names({ headers: { 'x-cortex-tool-mode': 'search' } })).toContain('find_tools');
    const none = await names({ token: await edge.token({ scope: '' }) });
    expect(none).toEqual(expect.arrayContaining(['whoami']));
    expect(none.filter((name: string) => name.startsWith('sample_'))).toEqual([]);
  });

  it('P63 P75 is private, and one caller never gets the list of another', async () => {
    const [mine, theirs] = await Promise.all([edge.ask('tools/list'), edge.ask('tools/list', {}, { token: reader })]);
    expect(mine.body.result.cacheScope).toBe('private');
    expect(theirs.body.result.cacheScope).toBe('private');
    const names = (answer: typeof mine) => answer.body.result.tools.map((tool: { name: string }) => tool.name);
    expect(names(theirs)).not.toContain('sample_slow');
    expect(names(mine)).toContain('sample_slow');
    expect(names(theirs)).toContain('sample_echo');
  });
});
