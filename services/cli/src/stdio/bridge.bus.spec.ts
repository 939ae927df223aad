import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '@cortex/mcp-edge/testing/backend';
import { type EdgeFixture, startEdge } from '@cortex/mcp-edge/testing/edge-fixture';
import { Bridged } from '../testing/bridged.js';

const scope = 'mcp:demo:read';
const region = { type: 'string', 'x-mcp-header': 'Region' };
const FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  const tool = (name: string, properties: object = {}) => ({
    name,
    scope,
    description: 'Does it.',
    inputSchema: { type: 'object', properties },
  });
  demo = await testBackend([tool('deploy', { region }), tool('ask'), tool('slow')]);
  demo.answers['deploy'] = ({ params }) => params;
  demo.answers['ask'] = ({ context }, res) => {
    const { name } = context.inputResponses?.who?.content ?? {};
    const answered = { content: [{ type: 'text', text: `hello ${name}` }] };
    const value = name === undefined ? { resultType: 'input_required', inputRequests: { who: FORM } } : answered;
    return json(res, 200, value, { 'x-cortex-result': 'mcp' });
  };
  const polling = { CORTEX_SSE_POLL_AFTER_MS: '200', CORTEX_SSE_RETRY_MS: '50' };
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, polling) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const bridged = (): Bridged => new Bridged(new URL(edge.url), () => token);
/** How many streams clients have opened so far. */
const streams = async (): Promise<number> =>
  (await edge.records()).filter((record) => JSON.stringify(record).includes('"GET"')).length;
const text = ({ result }: { result: { content: { text: string }[] } }): string => String(result.content[0]?.text);

describe('through the real gateway a client of the stateless revision', () => {
  it('calls a tool with a mirrored parameter, without ever having asked for the list', async () => {
    await using client = bridged();
    client.askModern(1, 'tools/call', { name: 'demo_deploy', arguments: { region: 'Zürich' } });
    expect(text(await client.answer(1))).toContain('Zürich');
  });

  it('is told which revisions there are when it names another one', async () => {
    await using client = bridged();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2099-01-01',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    client.ask(1, 'server/discover', { _meta });
    expect((await client.answer(1)).error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'] } });
  });

  it('hears of a change of the list, and has its call ended at the backend when it cancels', async () => {
    let ended: Promise<void> | undefined;
    demo.answers['slow'] = ({ closed }) => void (ended = closed);
    await using client = bridged();
    client.askModern('l', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
    await eventually(() => client.lines.length === 1);
    client.askModern(1, 'tools/call', { name: 'demo_slow' });
    await eventually(() => ended !== undefined);
    client.notify('notifications/cancelled', { requestId: 1 });
    await ended;
    demo.tools = demo.tools.filter((tool) => (tool as { name: string }).name !== 'slow');
    await edge.edge.federation.refresh('demo');
    await eventually(() => client.messages.some(({ method }) => method === 'notifications/tools/list_changed'));
    expect(client.messages.some(({ id }) => id === 1)).toBe(false);
  });
});

describe('through the real gateway a client of a revision with a handshake', () => {
  it('answers a question of a backend in the middle of a call', async () => {
    await using client = bridged();
    const capabilities = { elicitation: {} };
    client.ask(0, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities,
      clientInfo: { name: 't', version: '1' },
    });
    client.notify('notifications/initialized');
    client.ask(1, 'tools/call', { name: 'demo_ask' });
    const asked = () => client.messages.find(({ method }) => method === 'elicitation/create');
    await eventually(() => asked() !== undefined);
    client.say({ jsonrpc: '2.0', id: asked().id, result: { action: 'accept', content: { name: 'Ada' } } });
    expect(text(await client.answer(1))).toContain('hello Ada');
  });

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])('of %s lists and calls', async (revision) => {
    await using client = bridged();
    await client.initialize(revision);
    expect((await client.answer('init')).result.protocolVersion).toBe(revision);
    client.ask(1, 'tools/list');
    expect(JSON.stringify((await client.answer(1)).result)).toContain('demo_deploy');
    client.ask(2, 'tools/call', { name: 'demo_deploy', arguments: { region: 'eu' } });
    expect(text(await client.answer(2))).toContain('eu');
  });

  it('gets the answer of a long call whose stream the gateway closed in between', async () => {
    let finish: (() => void) | undefined;
    demo.answers['ask'] = (_, res) => void (finish = () => json(res, 200, { late: true }));
    await using client = bridged();
    await client.initialize();
    client.ask(1, 'tools/call', { name: 'demo_ask' });
    await eventually(() => finish !== undefined);
    // One stream is that of notifications; each other one came back for the answer.
    const before = await streams();
    await eventually(async () => (await streams()) >= before + 2);
    finish?.();
    expect(text(await client.answer(1))).toContain('late');
  });
});
