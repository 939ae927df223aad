import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';

const TOPICS = ['overview', 'concepts', 'workflows', 'conventions', 'limits', 'examples'];
const SNAPSHOT = {
  backend: 'docs',
  generatedAt: '2026-07-28T09:00:00.000Z',
  title: 'Documents',
  headline: [
    { key: 'pages', label: 'Pages', value: 1204, unit: 'pages', delta: -3, status: 'green' },
    { key: 'state', label: 'State', value: 'fine', delta: null, status: null, href: 'https://docs.example/state' },
  ],
  sections: [{ title: 'Search', metrics: [{ key: 'queries', label: 'Queries', value: 0 }] }],
  hint: 'Numbers of yesterday',
};
const scope = (id: string) => `mcp:${id}:read`;
const tool = (id: string, name: string, more: object = {}) => ({
  name,
  scope: scope(id),
  description: `${name}.`,
  ...more,
});

let docs: TestBackend;
let crm: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  docs = await testBackend([
    tool('docs', 'get_help', { params: { topic: 'string?' } }),
    tool('docs', 'get_snapshot', {
      outputSchema: { type: 'object', required: ['backend', 'generatedAt', 'title', 'headline'] },
    }),
    tool('docs', 'whoami'),
  ]);
  docs.answers['get_help'] = ({ params }, res) => {
    const { topic } = params as { topic?: string };
    if (topic === undefined) return { topics: TOPICS };
    return TOPICS.includes(topic) ? { [topic]: `About ${topic}.` } : json(res, 404, { error: `no topic ${topic}` });
  };
  docs.answers['get_snapshot'] = () => SNAPSHOT;
  crm = await testBackend([tool('crm', 'find')]);
  crm.answers['get_help'] = () => 'nobody may ask';
  edge = await startEdge({ beside: [], env: backendEnv({ docs, crm }, { CORTEX_BACKEND_CRM_PREFIX: 'sales-' }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: `${scope('docs')} ${scope('crm')}` });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await Promise.all([docs, crm].map((one) => one[Symbol.asyncDispose]()));
});

const call = async (name: string, args: object = {}) => (await edge.call(name, args, { token })).body;

describe('what a backend tells of itself', () => {
  it('is offered as tools where it declares them, and nowhere else; whoami is the gateway`s', async () => {
    const { tools } = (await edge.ask('tools/list', {}, { token })).body.result;
    const names = tools
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => /^(docs_|sales-)/.test(name));
    expect(names).toEqual(['docs_get_help', 'docs_get_snapshot', 'sales-find']);
    expect((await call('sales-get_help')).error.message).toContain('Unknown tool');
    expect((await call('docs_whoami')).error.message).toContain('Unknown tool');
  });

  it.each(TOPICS)('get_help explains the topic %s to the caller', async (topic) => {
    expect((await call('docs_get_help', { topic })).result.content).toEqual([
      { type: 'text', text: JSON.stringify({ [topic]: `About ${topic}.` }) },
    ]);
    expect(docs.asked.at(-1)).toMatchObject({ method: 'get_help', headers: { authorization: `Bearer ${token}` } });
  });

  it('get_help without a topic, and one that is none', async () => {
    expect(JSON.parse((await call('docs_get_help')).result.content[0].text)).toEqual({ topics: TOPICS });
    expect((await call('docs_get_help', { topic: 'x' })).result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'no topic x' }],
    });
  });

  it('get_snapshot gives its envelope whole', async () => {
    const { result } = await call('docs_get_snapshot');
    expect(result.structuredContent).toEqual(SNAPSHOT);
    expect(JSON.parse(result.content[0].text)).toEqual(SNAPSHOT);
  });
});

describe('the instructions', () => {
  const modern = async (): Promise<string> =>
    (await edge.ask('server/discover', {}, { token })).body.result.instructions;

  it('say what there is in their order, the same in both eras', async () => {
    const text = await modern();
    const order = [
      'cortex-gateway is one MCP server',
      'Federated backends: docs, crm.',
      '<id>_<tool>, those of crm sales-<tool>.',
      'Built-in tools: whoami, list_cortex_resources, read_cortex_resource, report_missing_capability, list_cortex_tickets, find_tools.',
      'search_tool_bm25 or list_my_tools',
      'X-Cortex-Backends shrinks',
      'not an access control',
      'X-Cortex-Tool-Mode: search',
      'X-Cortex-Schema-Profile',
      '<id>_get_help(topic?)',
      "the user's task",
    ].map((part) => text.indexOf(part));
    expect(order).not.toContain(-1);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const { json: hello } = await rawClient(edge.origin, token).ask({
      body: { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    });
    expect(hello.result.instructions).toBe(text);
  });

  it('name the backends that answer', async () => {
    await crm.shut();
    await edge.edge.federation.refresh();
    expect(await modern()).toContain('Federated backends: docs.');
    expect(await modern()).not.toContain('sales-');
    await crm.open();
    await edge.edge.federation.refresh();
    expect(await modern()).toContain('Federated backends: docs, crm.');
  });

  it('name those that are configured until they were asked once', async () => {
    const slow = await testBackend();
    slow.answers['list_tools'] = () => undefined;
    const early = await startEdge({ beside: [], ready: false, env: backendEnv({ slow }) });
    const { instructions } = (await early.ask('server/discover')).body.result;
    expect(instructions).toContain('Federated backends: slow.');
    await early[Symbol.asyncDispose]();
    await slow[Symbol.asyncDispose]();
  });
});
