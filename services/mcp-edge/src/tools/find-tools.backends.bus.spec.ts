import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { testSessions } from '../testing/sessions.js';

const scope = 'mcp:demo:read';
const PAGE = {
  name: 'page',
  title: 'Read a leaf',
  description: 'Reads one page of a book.',
  scope,
  version: '2.0.0',
  icons: [{ src: 'data:image/png;base64,AAAA' }],
  annotations: { readOnlyHint: true, title: 'Leaf' },
  inputSchema: {
    type: 'object',
    properties: { at: { $ref: '#/$defs/place' } },
    $defs: { place: { type: 'integer', maximum: 3 } },
  },
  outputSchema: { type: 'integer' },
  _meta: { own: 1, 'cortex/forged': 1 },
};
const OLD = {
  name: 'Seite (alt)',
  description: 'Old way.',
  scope,
  deprecated: { removedAt: '2027-01-01', replacedBy: 'page' },
};
const ADMIN = { name: 'burn', description: 'Burns a page of a book.', scope: 'mcp:demo:admin' };
const MASKED = { name: 'whoami', description: 'Says who one is to the book.', scope };

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  demo = await testBackend([PAGE, OLD, ADMIN, MASKED]);
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_BACKEND_DEMO_TOKEN_MODE: 'none' }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

type Listed = { name: string; inputSchema: object; outputSchema?: object; _meta: object };
const find = async (args: object, ask: Ask = {}): Promise<Listed[]> =>
  (await edge.call('find_tools', args, { token, ...ask })).body.result.structuredContent.tools;
const names = async (args: object, ask?: Ask) => (await find(args, ask)).map(({ name }) => name);
const listed = async (headers: Record<string, string> = {}): Promise<Listed[]> =>
  (await edge.ask('tools/list', {}, { token, headers })).body.result.tools;

describe('find_tools', () => {
  it('gives the tools of backends exactly as the list gives them', async () => {
    const all = await listed();
    const federated = all.filter(({ name }) => name.startsWith('demo_'));
    expect(federated).toHaveLength(2);
    expect(await find({ names: all.map(({ name }) => name) })).toEqual(all);
    expect((await find({ names: ['demo_page'] }))[0]).toMatchObject({
      annotations: PAGE.annotations,
      icons: PAGE.icons,
      _meta: { own: 1, version: '2.0.0', app: 'demo', 'cortex/name': 'page' },
    });
  });

  it('and in the form of their schemas that the request asks for', async () => {
    const headers = { 'x-cortex-schema-profile': 'inline' };
    const [page] = await find({ names: ['demo_page'] }, { headers });
    expect(page?.inputSchema).toEqual({ type: 'object', properties: { at: { type: 'integer', maximum: 3 } } });
    expect(page).toEqual((await listed(headers)).find(({ name }) => name === 'demo_page'));
    const prefixed = await edge.call('mcp__cortex__find_tools', { names: ['demo_page'] }, { token, headers });
    expect(prefixed.body.result.structuredContent.tools).toEqual([page]);
  });

  it('with their whole schemas while the list shows lines', async () => {
    const headers = { 'x-cortex-tool-mode': 'search' };
    const [page] = await find({ names: ['demo_page'] }, { headers });
    expect(page).toMatchObject({ inputSchema: PAGE.inputSchema, outputSchema: PAGE.outputSchema });
  });

  it('looks at original names and titles too, whatever the case and the form of a letter', async () => {
    const [old] = await names({ query: 'seite (ALT)' });
    expect(old).toMatch(/^demo_Seite_alt_[0-9a-f]{8}$/);
    expect(await names({ query: 'a LEAF' })).toEqual(['demo_page']);
    expect(await names({ query: 'ｐａｇｅ of a book' })).toEqual(['demo_page']);
  });

  it('P63 neither finds nor gives what scopes, a built-in name or the review keep back', async () => {
    expect(await names({ query: 'book' })).toEqual(['demo_page']);
    expect(await names({ names: ['demo_burn', 'demo_whoami'] })).toEqual([]);
    demo.tools = [{ ...PAGE, description: 'Reads one page of another book.' }, OLD, ADMIN, MASKED];
    await edge.edge.federation.refresh();
    expect(await names({ query: 'book' })).toEqual([]);
    expect(await names({ names: ['demo_page'] })).toEqual([]);
    demo.tools = [PAGE, OLD, ADMIN, MASKED];
    await edge.edge.federation.refresh();
    expect(await names({ query: 'book' })).toEqual(['demo_page']);
  });

  it('finds for an agent what its session leaves in', async () => {
    await using sessions = await testSessions(edge);
    await sessions.open('s1', { scopes: [scope], allowlist: ['demo/page'] });
    const agent = await sessions.token('s1', { scope, tools: ['demo/page'] });
    expect(await names({ query: 'demo_' }, { token: agent })).toEqual(['demo_page']);
  });
});
