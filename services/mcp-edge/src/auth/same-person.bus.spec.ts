import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, testBackend, type TestBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { personOf } from '../testing/gate-log.js';
import { rawClient } from '../testing/raw-client.js';
import { testSessions, type TestSessions } from '../testing/sessions.js';

const scope = 'mcp:demo:read mcp:cortex:read mcp:cortex:write';
const FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};
const CAPABLE = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
const ANSWERED = { who: { action: 'accept', content: { name: 'Ann' } } };
const NATIVE = { 'x-cortex-result': 'mcp' };

let demo: TestBackend;
let edge: EdgeFixture;
let sessions: TestSessions;
let person: string;
let agent: string;
beforeAll(async () => {
  demo = await testBackend(
    ['ask', 'say'].map((name) => ({ name, scope: 'mcp:demo:read', description: `Does ${name}.` })),
  );
  demo.answers['say'] = ({ params }) => params.text;
  demo.answers['ask'] = ({ context }, res) => {
    const name = context.inputResponses?.who?.content?.name;
    const asking = { resultType: 'input_required', inputRequests: { who: FORM }, requestState: 'mine' };
    return json(res, 200, name === undefined ? asking : { content: [{ type: 'text', text: name }] }, NATIVE);
  };
  edge = await startEdge({
    beside: [],
    env: backendEnv({ demo }, { CORTEX_BACKEND_DEMO_TOKEN_MODE: 'none', CORTEX_LIST_PAGE_SIZE: '2' }),
  });
  await eventually(() => edge.edge.federation.complete);
  sessions = await testSessions(edge);
  person = await edge.token({ scope });
  const alice = await personOf(edge);
  await sessions.open('s1', { person_id: alice, scopes: scope.split(' ') });
  agent = await sessions.token('s1', { sub: alice, scope });
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const hello = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};

describe('T03 an agent of a person, though its token leads to the same subject,', () => {
  it('is known by that subject', async () => {
    const who = async (token: string) =>
      (await edge.call('whoami', {}, { token })).body.result.structuredContent.identity.person_id as string;
    expect(await who(agent)).toBe(await who(person));
  });

  it.each(['person', 'agent'])('finds no MCP session of the other (of the %s)', async (owner) => {
    const [mine, theirs] = owner === 'person' ? [person, agent] : [agent, person];
    const session = String((await rawClient(edge.origin, mine).ask({ body: hello })).headers['mcp-session-id']);
    const raw = rawClient(edge.origin, theirs);
    const headers = { 'mcp-session-id': session };
    const uses = [
      { headers, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
      { headers, body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } } },
      { headers, method: 'GET' },
      { headers, method: 'DELETE' },
    ];
    for (const use of uses) expect((await raw.ask(use)).status).toBe(404);
    const own = await rawClient(edge.origin, mine).ask(uses[0]!);
    expect(own.status).toBe(200);
  });

  it('posts nothing into an HTTP+SSE session of that person', async () => {
    const stream = await rawClient(edge.origin, person).stream({ method: 'GET', path: '/sse' });
    const path = await eventually(() => String(stream.events[0] ?? '') || false);
    expect((await rawClient(edge.origin, agent).ask({ path, body: hello })).status).toBe(404);
    expect((await rawClient(edge.origin, person).ask({ path, body: hello })).status).toBe(202);
    stream.close();
  });

  it('goes on with no call of that person that waits for input', async () => {
    const call = (token: string, more: object = {}) =>
      edge.ask('tools/call', { name: 'demo_ask', arguments: {}, ...more }, { token, meta: CAPABLE });
    const { requestState } = (await call(person)).body.result;
    const retry = { requestState, inputResponses: ANSWERED };
    const before = demo.asked.length;
    expect((await call(agent, retry)).body.error).toMatchObject({
      code: -32602,
      data: { reason: 'invalid_request_state' },
    });
    expect(demo.asked.length).toBe(before);
    expect((await call(person, retry)).body.result.content[0].text).toBe('Ann');
  });

  it('turns no page of a list of that person', async () => {
    const list = async (token: string, cursor?: string) =>
      (await edge.ask('tools/list', cursor === undefined ? {} : { cursor }, { token })).body;
    const { nextCursor } = (await list(person)).result;
    expect((await list(agent, nextCursor)).error).toMatchObject({ code: -32602 });
    expect((await list(person, nextCursor)).result.tools.length).toBeGreaterThan(0);
  });

  it('is given no result of that person by an idempotency key, and claims none', async () => {
    const call = async (token: string, text: string) =>
      (await edge.call('demo_say', { text }, { token, meta: { 'cortex/idempotencyKey': 'of-both' } })).body.result;
    const said = () => demo.asked.filter(({ method }) => method === 'say').length;
    const before = said();
    for (const [token, text] of [
      [person, 'the person`s'],
      [agent, 'the agent`s'],
      [person, 'the person`s'],
      [agent, 'the agent`s'],
    ] as const)
      expect((await call(token, text)).content[0].text).toContain(text);
    expect(said()).toBe(before + 2);
  });
});
