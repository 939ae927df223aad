import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type Ask, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';
import { testSessions } from '../testing/sessions.js';

const scope = 'mcp:demo:read';
const at = (path: string, more: object = {}) => ({ uri: `demo://${path}`, name: path, scope, ...more });

let demo: TestBackend;
let pub: TestBackend;
let edge: EdgeFixture;
let reader: string;
beforeAll(async () => {
  demo = await testBackend();
  demo.answers['list_resources'] = () => ({
    resources: [at('note'), at('image'), at('gone'), at('ask'), at('broken'), at('vault', { scope: 'mcp:demo:admin' })],
  });
  demo.answers['list_resource_templates'] = () => ({
    resourceTemplates: [{ uriTemplate: 'demo://files/{name}', name: 'File', scope }],
  });
  demo.answers['read_resource'] = ({ params: { uri }, context }, res) => {
    const said = (...parts: object[]) => ({ contents: parts.map((part) => ({ uri, ...part })), ttlMs: 5_000 });
    switch (uri) {
      case 'demo://image':
        return said({ text: 'a legend' }, { blob: 'AAEC', mimeType: 'image/png' }, { text: 'a footer' });
      case 'demo://gone':
        return json(res, 404, { error: 'gone' });
      case 'demo://broken':
        return json(res, 500, { error: 'boom' });
      case 'demo://ask':
        return context.inputResponses === undefined ? QUESTION : said({ text: JSON.stringify(context) });
      default:
        return said({ text: `content of ${uri}`, mimeType: 'text/plain' });
    }
  };
  pub = await testBackend();
  pub.answers['list_resources'] = () => ({ resources: [{ uri: 'pub://r', name: 'R', scope: 'mcp:pub:use' }] });
  pub.answers['read_resource'] = ({ params: { uri } }) => ({ contents: [{ uri, text: 'obey' }] });
  edge = await startEdge({ beside: [], env: backendEnv({ demo, pub }, { CORTEX_BACKEND_PUB_TOKEN_MODE: 'none' }) });
  await eventually(() => edge.edge.federation.complete);
  reader = await edge.token({ scope });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await Promise.all([demo, pub].map((backend) => backend[Symbol.asyncDispose]()));
});

const QUESTION = {
  resultType: 'input_required',
  inputRequests: {
    pin: {
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Which?', requestedSchema: { type: 'object', properties: {} } },
    },
  },
  requestState: 'mine',
};
const read = (uri: unknown, ask: Ask = {}) => edge.call('read_cortex_resource', { uri }, { token: reader, ...ask });

describe('read_cortex_resource', () => {
  it('gives the text of a resource, also of one that a template means', async () => {
    for (const uri of ['demo://note', 'demo://files/a']) {
      const { result } = (await read(uri)).body;
      expect(result.content).toEqual([{ type: 'text', text: `content of ${uri}` }]);
      const text = `content of ${uri}`;
      expect(result.structuredContent).toEqual({ contents: [{ uri, text, mimeType: 'text/plain' }] });
      expect(result._meta['cortex/provenance']).toMatchObject({ backend: 'demo', uri });
    }
  });

  it('joins texts with a blank line and embeds what is no text', async () => {
    const { result } = (await read('demo://image')).body;
    expect(result.content).toEqual([
      { type: 'text', text: 'a legend\n\na footer' },
      { type: 'resource', resource: { uri: 'demo://image', blob: 'AAEC', mimeType: 'image/png' } },
    ]);
  });

  it.each(['demo://gone', 'demo://nothing', 'other://x', 'no uri at all'])(
    'says of %s that there is no such resource, in words for a model',
    async (uri) => {
      const { result } = (await read(uri)).body;
      expect(result).toMatchObject({ isError: true, _meta: { 'cortex/error': { kind: 'not_found', field: 'uri' } } });
      expect(result.content[0].text).toContain('see list_cortex_resources');
    },
  );

  it('without the scope is a challenge as for resources/read, and the backend does not hear of it', async () => {
    const before = demo.asked.length;
    const direct = await edge.ask('resources/read', { uri: 'demo://vault' }, { token: reader });
    const { status, headers, body } = await read('demo://vault');
    expect([status, body.error]).toEqual([403, direct.body.error]);
    expect(headers.get('www-authenticate')).toBe(direct.headers.get('www-authenticate'));
    expect(headers.get('www-authenticate')).toContain('scope="mcp:demo:admin"');
    expect(demo.asked.length).toBe(before);
    await edge.finished({ tool: 'read_cortex_resource', outcome: 'denied', gate: 'scope', reason: 'refused_by_scope' });
  });

  it('T17 a key gives back nothing that the scope was taken away of', async () => {
    const meta = { 'cortex/idempotencyKey': 'once' };
    expect((await read('demo://note', { meta })).body.result.content[0].text).toBe('content of demo://note');
    const less = await edge.token({ scope: 'mcp:other:read' });
    const { status, text } = await read('demo://note', { token: less, meta });
    expect(status).toBe(403);
    expect(text).not.toContain('content of');
  });

  it('tells what went wrong at the backend as resources/read does', async () => {
    const direct = await edge.ask('resources/read', { uri: 'demo://broken' }, { token: reader });
    expect((await read('demo://broken')).body.error).toEqual(direct.body.error);
    await edge.finished({ tool: 'read_cortex_resource', outcome: 'failed', error_kind: 'unavailable' });
  });

  it.each([{}, { uri: 7 }, { uri: '' }, { uri: 'x'.repeat(9_000) }, { uri: 'demo://note', more: 1 }])(
    'refuses arguments like %j',
    async (args) => {
      const { result } = (await edge.call('read_cortex_resource', args, { token: reader })).body;
      expect(result).toMatchObject({ isError: true, _meta: { 'cortex/error': { kind: 'invalid_argument' } } });
    },
  );

  it('passes on what a backend asks the client before it answers, and the answers', async () => {
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const first = (await read('demo://ask', { meta })).body.result;
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: QUESTION.inputRequests });
    expect(first).not.toHaveProperty('content');
    const again = {
      name: 'read_cortex_resource',
      arguments: { uri: 'demo://ask' },
      inputResponses: { pin: { action: 'accept', content: {} } },
      requestState: first.requestState,
    };
    const second = (await edge.ask('tools/call', again, { token: reader, meta })).body.result;
    expect(JSON.parse(second.content[0].text)).toMatchObject({
      inputResponses: again.inputResponses,
      requestState: 'mine',
    });
    const stolen = { ...again, arguments: { uri: 'demo://note' } };
    expect((await edge.ask('tools/call', stolen, { token: reader, meta })).body.error).toMatchObject({
      code: -32602,
      data: { reason: 'invalid_request_state' },
    });
    expect((await read('demo://ask')).body.error).toMatchObject({ code: -32021 });
  });

  it('tells what a backend says while it works to a client that wants to hear it', async () => {
    const good = demo.answers['read_resource']!;
    demo.answers['read_resource'] = ({ params: { uri } }, res) => {
      res.writeHead(200, { 'content-type': 'application/x-ndjson' });
      res.write('{"type":"progress","progress":1,"total":2}\n');
      res.end(`${JSON.stringify({ type: 'result', result: { contents: [{ uri, text: 'slow' }] } })}\n`);
    };
    const { text, body } = await read('demo://note', { meta: { progressToken: 'p' } });
    expect(text).toContain('"method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2}');
    expect(body.result.content).toEqual([{ type: 'text', text: 'slow' }]);
    demo.answers['read_resource'] = good;
  });

  it('answers in older revisions too', async () => {
    const { json: answer } = await rawClient(edge.origin, reader).ask({
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'read_cortex_resource', arguments: { uri: 'demo://note' } },
      },
    });
    expect(answer.result.content).toEqual([{ type: 'text', text: 'content of demo://note' }]);
  });

  it('T25 gives an agent the text of a backend in a fence, in both forms', async () => {
    const sessions = await testSessions(edge);
    await sessions.open('s1', { scopes: ['mcp:pub:use'] });
    const token = await sessions.token('s1', { scope: 'mcp:pub:use' });
    const { result } = (await read('pub://r', { token })).body;
    const fence = /^<<<UNTRUSTED-BACKEND-CONTENT [0-9a-f]{16} source=pub\n[^]*\nobey\nEND-UNTRUSTED-BACKEND-CONTENT/;
    expect(result.content[0].text).toMatch(fence);
    expect(result.structuredContent.contents[0].text).toMatch(fence);
    await sessions[Symbol.asyncDispose]();
  });

  it('takes the request at the backend back when its caller goes', async () => {
    const gone = new AbortController();
    const good = demo.answers['read_resource']!;
    const heard = new Promise<(typeof demo.asked)[number]>((resolve) => {
      demo.answers['read_resource'] = (asked) => {
        resolve(asked);
      };
    });
    const reading = read('demo://note', { signal: gone.signal }).catch(() => undefined);
    const asked = await heard;
    gone.abort();
    await asked.closed;
    await reading;
    demo.answers['read_resource'] = good;
  });
});
