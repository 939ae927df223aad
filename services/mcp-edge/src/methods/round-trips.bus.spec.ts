import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type BackendHandler, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient, type RawClient } from '../testing/raw-client.js';

const scope = 'mcp:demo:read';
const NATIVE = { 'x-cortex-result': 'mcp' };
const FORM = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
};
const CAPABLE = {
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} }, sampling: {}, roots: {} },
};
const both = { accept: 'application/json, text/event-stream' };

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
let raw: RawClient;
beforeAll(async () => {
  demo = await testBackend(
    ['ask', 'other', 'work'].map((name) => ({ name, scope, description: 'Asks.', inputSchema: { type: 'object' } })),
  );
  demo.answers['list_prompts'] = () => ({ prompts: [{ name: 'ask', description: 'Asks.', scope }] });
  demo.answers['ask'] = demo.answers['other'] = asksForName((name) => ({ content: [{ type: 'text', text: name }] }));
  demo.answers['get_prompt'] = asksForName((name) => ({
    messages: [{ role: 'user', content: { type: 'text', text: name } }],
  }));
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_INPUT_TIMEOUT_MS: '2000' }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope });
  raw = rawClient(edge.origin, token);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

/** Asks for a name, with a state of its own, until it gets one. */
const asksForName =
  (made: (name: string) => object): BackendHandler =>
  ({ context }, res) => {
    const name = context.inputResponses?.who?.content?.name;
    const asking = { resultType: 'input_required', inputRequests: { who: FORM }, requestState: 'mine' };
    return json(res, 200, typeof name === 'string' ? made(name) : asking, NATIVE);
  };
const answer = { who: { action: 'accept', content: { name: 'Ann' } } };
const call = (more: object = {}, ask: Ask = {}) =>
  edge.ask('tools/call', { name: 'demo_ask', arguments: { a: 1, b: 2 }, ...more }, { token, meta: CAPABLE, ...ask });

describe.each([{ sdk: false }, { sdk: true }])('a call that needs input, by %j', ({ sdk }) => {
  it('is answered with questions, and goes on with the answers', async () => {
    const { status, body } = await call({}, { sdk });
    expect([status, body.result]).toMatchObject([
      200,
      { resultType: 'input_required', inputRequests: { who: FORM }, requestState: expect.stringMatching(/^v1\./) },
    ]);
    expect(body.result).not.toHaveProperty('content');
    const { requestState } = body.result;
    const done = await call({ inputResponses: answer, requestState, arguments: { b: 2, a: 1 } }, { sdk });
    expect(done.body.result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'Ann' }] });
    expect(demo.asked.at(-1)?.context).toMatchObject({
      inputResponses: answer,
      requestState: 'mine',
      clientCapabilities: { elicitation: { form: {} } },
    });
  });

  it('T15 takes a state back from the same caller with the same request alone', async () => {
    const { requestState } = (await call({}, { sdk })).body.result;
    const before = demo.asked.length;
    const wrong = {
      code: -32602,
      message: 'Invalid or expired requestState',
      data: { reason: 'invalid_request_state' },
    };
    const again = (more: object, ask: Ask = {}) =>
      call({ inputResponses: answer, requestState, ...more }, { sdk, ...ask });
    expect((await again({ requestState: `${requestState.slice(0, -2)}AA` })).body.error).toEqual(wrong);
    expect((await again({ requestState: 'mine' })).body.error).toEqual(wrong);
    expect((await again({ requestState: 7 })).body.error).toMatchObject({ code: -32602 });
    expect((await again({ arguments: { a: 2 } })).body.error).toEqual(wrong);
    expect((await again({ name: 'demo_other' })).body.error).toEqual(wrong);
    const other = await edge.token({ sub: 'bob', scope });
    expect((await again({}, { token: other })).body.error).toEqual(wrong);
    expect(demo.asked.length).toBe(before);
  });

  it('drops answers that are no objects, and asks again', async () => {
    for (const inputResponses of [{ who: 7 }, { who: null }, 'text', { else: answer.who }])
      expect((await call({ inputResponses }, { sdk })).body.result.resultType).toBe('input_required');
  });

  it('is refused with the capability that its client did not declare', async () => {
    const { status, body } = await call({}, { sdk, meta: {} });
    expect([status, body.error.code]).toEqual([400, -32021]);
    expect(body.error.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } });
  });
});

describe('questions', () => {
  it.each([
    [{ resultType: 'input_required' }],
    [{ resultType: 'input_required', inputRequests: { a: { method: 'tools/list' } } }],
    [{ resultType: 'input_required', requestState: 7 }],
  ])('of the form %j are an invalid response', async (value) => {
    const good = demo.answers['ask']!;
    demo.answers['ask'] = (_asked, res) => json(res, 200, value, NATIVE);
    expect((await call()).body.error).toEqual({ code: -32603, message: 'Backend demo sent an invalid response' });
    demo.answers['ask'] = good;
  });

  it('come with prompts too, and their result is not to be kept', async () => {
    const get = (more: object = {}) => edge.ask('prompts/get', { name: 'demo_ask', ...more }, { token, meta: CAPABLE });
    const { result } = (await get()).body;
    expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { who: FORM } });
    const done = await get({ inputResponses: answer, requestState: result.requestState });
    expect(done.body.result.messages[0].content.text).toBe('Ann');
  });

  it('are no result for an idempotency key: the answers run under the same one', async () => {
    const meta = { ...CAPABLE, 'cortex/idempotencyKey': 'round-trip' };
    const { requestState } = (await call({}, { meta })).body.result;
    await eventually(async () => {
      const { result } = (await call({ inputResponses: answer, requestState }, { meta })).body;
      return result.content?.[0].text === 'Ann';
    });
  });
});

describe('a session of an older revision', () => {
  const open = async (protocolVersion: string, capabilities: object): Promise<string> => {
    const params = { protocolVersion, capabilities, clientInfo: { name: 'c', version: '1' } };
    const { headers } = await raw.ask({ body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
    return String(headers['mcp-session-id']);
  };
  const start = (session: string, method = 'tools/call', name = 'demo_ask', more: object = {}) =>
    raw.stream({
      headers: { 'mcp-session-id': session, ...both },
      body: { jsonrpc: '2.0', id: 1, method, params: { name, ...more } },
    });
  const reply = (session: string, body: object) =>
    raw.ask({ headers: { 'mcp-session-id': session }, body: { jsonrpc: '2.0', ...body } });
  const asked = async (stream: Awaited<ReturnType<typeof start>>) =>
    eventually(() => {
      const found = stream.events.find(({ method }) => method === 'elicitation/create');
      if (found === undefined) throw new Error('nothing asked yet');
      return found as { id: string; params: Record<string, unknown> };
    });

  it.each(['2025-06-18', '2025-11-25'])('of %s is asked by a request on the stream of the call', async (revision) => {
    const session = await open(revision, { elicitation: {} });
    const stream = await start(session);
    const question = await asked(stream);
    expect(question.params['message']).toBe('Who?');
    expect('mode' in question.params).toBe(revision === '2025-11-25');
    // Neither a stranger's session nor a made-up id answers it.
    const stranger = await open(revision, {});
    await reply(stranger, { id: question.id, result: { action: 'accept', content: { name: 'Eve' } } });
    expect((await reply(session, { id: 'unknown', result: {} })).status).toBe(202);
    expect((await reply(session, { id: question.id, result: answer.who })).status).toBe(202);
    await eventually(() => stream.ended);
    expect(stream.events.at(-1).result.content).toEqual([{ type: 'text', text: 'Ann' }]);
  });

  it('without the capability gets a result that says so, and of a prompt an error', async () => {
    const session = await open('2025-11-25', {});
    const stream = await start(session);
    await eventually(() => stream.ended);
    expect(stream.events.at(-1).result).toMatchObject({ isError: true, content: [{ text: /input/ as never }] });
    const prompt = await start(session, 'prompts/get');
    await eventually(() => prompt.ended);
    expect(prompt.events.at(-1).error).toMatchObject({ code: -32603 });
  });

  it('that refuses, or says nothing in time, ends the call', async () => {
    const session = await open('2025-11-25', { elicitation: {} });
    const refusing = await start(session);
    const { id } = await asked(refusing);
    await reply(session, { id, error: { code: -1, message: 'nobody here' } });
    await eventually(() => refusing.ended);
    expect(refusing.events.at(-1).result.content[0].text).toContain('nobody here');
    const silent = await start(session);
    await eventually(() => silent.ended);
    expect(silent.events.at(-1).result.content[0].text).toContain('no answer within 2 s');
  });

  it('is told progress and log lines from its level on, ahead of the answer', async () => {
    demo.answers['work'] = works;
    const session = await open('2025-06-18', {});
    await raw.ask({
      headers: { 'mcp-session-id': session },
      body: { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'warning' } },
    });
    const stream = await start(session, 'tools/call', 'demo_work', { _meta: { progressToken: 'p' } });
    await eventually(() => stream.ended);
    expect(stream.events.map(({ method, params }) => [method, params?.progress ?? params?.data])).toEqual([
      ['notifications/progress', 1],
      ['notifications/message', 'bad'],
      ['notifications/progress', 2],
      [undefined, undefined],
    ]);
  });
});

/** Tells things in a stream; the progress that does not rise is nobody's. */
const works: BackendHandler = (_asked, res) => {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' });
  const lines = [
    { type: 'progress', progress: 1 },
    { type: 'log', level: 'info', data: 'fine' },
    { type: 'log', level: 'warning', logger: 'l', data: 'bad' },
    { type: 'progress', progress: 1 },
    { type: 'progress', progress: 2, total: 2 },
    { type: 'result', native: true, result: { content: [{ type: 'text', text: 'done' }] } },
  ];
  void (async () => {
    for (const line of lines) {
      res.write(`${JSON.stringify(line)}\n`);
      await sleep(10);
    }
    res.end();
  })();
};

describe.each([{ sdk: false }, { sdk: true }])('what a backend tells, by %j', ({ sdk }) => {
  const work = async (ask: Ask) => {
    demo.answers['work'] = works;
    const { headers, text } = await edge.call('demo_work', {}, { token, sdk, ...ask });
    const events = text.match(/^data: .*$/gm)?.map((line) => JSON.parse(line.slice(6)));
    return { type: headers.get('content-type'), events };
  };

  it('reaches who asked for it as a stream that ends with the answer', async () => {
    const { type, events } = await work({
      meta: { progressToken: 7, 'io.modelcontextprotocol/logLevel': 'info' },
    });
    expect(type).toBe('text/event-stream');
    expect(events?.map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/message',
      'notifications/message',
      'notifications/progress',
      undefined,
    ]);
    expect(events?.[0].params).toMatchObject({ progressToken: 7, progress: 1 });
    expect(events?.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: 'done' }], resultType: 'complete' } });
  });

  it('is nothing for who did not ask, or cannot read a stream', async () => {
    expect(await work({})).toEqual({ type: 'application/json', events: undefined });
    const headers = { accept: 'application/json' };
    expect((await work({ headers, meta: { progressToken: 7 } })).type).toBe('application/json');
  });
});
