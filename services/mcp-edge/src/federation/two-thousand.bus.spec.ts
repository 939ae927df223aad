import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import type { EdgeTool } from '../catalog/edge-tool.js';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ADMIN_SECRET, operator } from '../testing/operator.js';
import { hasForm } from './schemas/forms.js';

const COUNT = 2_000;
const PAGE = 300;
const SCOPE = 'mcp:big:use';
const THINGS = ['invoice', 'customer', 'shipment', 'contract', 'ticket', 'machine', 'sensor', 'campaign'];
const VERBS = ['list', 'get', 'create', 'update', 'archive'];

/** As large as a tool usually is: a paragraph, six arguments, a result. */
const big = (i: number) => {
  const [verb, thing] = [VERBS[i % VERBS.length], THINGS[i % THINGS.length]];
  const text = (what: string) => ({ type: 'string', description: `The ${what} of the ${thing}, 1 to 200 characters` });
  return {
    name: `${verb}_${thing}_${i}`,
    description: `Does the ${verb} of ${thing} number ${i}. ${'Use it when the user asks for exactly that, after a look at the list. '.repeat(3)}`,
    scope: SCOPE,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(['id', 'name', 'owner', 'region', 'note', 'since'].map((key) => [key, text(key)])),
      required: ['id'],
    },
    outputSchema: { type: 'object', properties: { id: text('id'), state: text('state') } },
    annotations: { readOnlyHint: verb === 'list' || verb === 'get' },
  };
};

let backend: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  backend = await testBackend(Array.from({ length: COUNT }, (_, i) => big(i)));
  backend.answers['get_shipment_1346'] = ({ params }) => params;
  const more = { CORTEX_LIST_PAGE_SIZE: String(PAGE), CORTEX_ADMIN_SECRET: ADMIN_SECRET };
  edge = await startEdge({ beside: [], env: backendEnv({ big: backend }, more) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: `mcp:cortex:read ${SCOPE}` });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await backend[Symbol.asyncDispose]();
});

type Listed = { name: string };
const namesIn = (tools: Listed[]): string[] => tools.map(({ name }) => name);
const mine = (names: string[]): string[] => names.filter((name) => name.startsWith('big_'));

/** Every page of the list, with its bytes. */
async function pages(headers: Record<string, string> = {}): Promise<{ tools: Listed[]; sizes: number[] }> {
  const tools: Listed[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined; ;) {
    const { body, text } = await edge.ask(
      'tools/list',
      { ...(cursor !== undefined && { cursor }) },
      { token, headers },
    );
    tools.push(...body.result.tools);
    sizes.push(text.length);
    cursor = body.result.nextCursor;
    if (cursor === undefined) return { tools, sizes };
  }
}
const found = async (name: string, args: object) =>
  (await edge.call(name, args, { token })).body.result.structuredContent;

describe('2,000 tools of a backend', () => {
  it('are listed in pages, each of them once', async () => {
    const { tools, sizes } = await pages();
    expect(new Set(mine(namesIn(tools))).size).toBe(COUNT);
    expect(tools.length).toBe(namesIn(tools).filter((name, i, all) => all.indexOf(name) === i).length);
    expect(sizes).toHaveLength(Math.ceil(tools.length / PAGE));
  });

  it('are a fifth of that in search mode', async () => {
    const bytes = ({ sizes }: { sizes: number[] }) => sizes.reduce((sum, size) => sum + size, 0);
    const [full, short] = [await pages(), await pages({ 'x-cortex-tool-mode': 'search' })];
    expect(mine(namesIn(short.tools))).toHaveLength(COUNT);
    expect(bytes(short) / bytes(full)).toBeLessThan(0.2);
  });

  it('have their simple forms before a list asks for them', async () => {
    const simple = ({ listing }: EdgeTool) => hasForm(listing.schemas, 'basic');
    await eventually(() => edge.edge.catalog.all().every(simple));
  });

  it('are found by a piece of text, by keywords, and by name', async () => {
    const hits = namesIn((await found('find_tools', { query: 'archive of machine' })).tools);
    expect(hits).toHaveLength(10);
    expect(hits[0]).toMatch(/^big_archive_machine_/);
    expect(namesIn((await found('find_tools', { names: ['big_get_shipment_1346'] })).tools)).toHaveLength(1);
    const { matches, total_tools } = await found('search_tool_bm25', { query: 'get shipment 1346', limit: 3 });
    expect(matches[0]).toBe('big_get_shipment_1346');
    expect(total_tools).toBeGreaterThan(COUNT);
    expect((await found('list_my_tools', {})).available_count).toBe(total_tools);
  });

  it('are called, resolved near a wrong name, and explained', async () => {
    const { body } = await edge.call('big_get_shipment_1346', { id: 'a' }, { token });
    expect(body.result.content[0].text).toBe('{"id":"a"}');
    const wrong = (await edge.call('big_get_shipmant_1346', {}, { token })).body.error.message;
    expect(wrong).toContain('Close names: big_get_shipment_1346');
    const explained = await operator(edge, 'POST', 'explain', { tool: 'big_get_shipment_1346', token });
    expect(explained.body).toMatchObject({ listed: true, callable: 'yes' });
  });

  it('cost no new catalogue and no new list when a refresh meets nothing new', async () => {
    const { catalog, federation } = edge.edge;
    const [version, all, current] = [catalog.version, catalog.all(), federation.current];
    await federation.refresh();
    expect([catalog.version, catalog.all() === all, federation.current === current]).toEqual([version, true, true]);
  });

  it('change one by one: the others stay the very same', async () => {
    const before = new Map(edge.edge.catalog.all().map((tool) => [tool.name, tool]));
    backend.tools = [...backend.tools, big(COUNT)];
    await edge.edge.federation.refresh();
    const all = edge.edge.catalog.all().filter(({ federated }) => federated !== undefined);
    expect(all.filter((tool) => before.get(tool.name) !== tool).map(({ name }) => name)).toEqual([
      `big_list_invoice_${COUNT}`,
    ]);
  });
});
