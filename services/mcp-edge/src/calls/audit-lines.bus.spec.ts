import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, testBackend, type TestBackend } from '../testing/backend.js';
import { ALL_SCOPES, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { rawClient } from '../testing/raw-client.js';

const TRACE = 'c'.repeat(32);
let demo: TestBackend;
let edge: EdgeFixture;
beforeAll(async () => {
  demo = await testBackend([
    { name: 'größe', scope: 'mcp:demo:read', description: 'Sagt, wie groß etwas ist — in €.' },
  ]);
  demo.answers['call_tool'] = () => ({ content: [{ type: 'text', text: 'the answer' }] });
  demo.answers['list_prompts'] = () => ({
    prompts: [{ name: 'greet', scope: 'mcp:demo:read', description: 'Greets.' }],
  });
  demo.answers['list_resources'] = () => ({
    resources: [{ uri: 'demo://a', name: 'a', scope: 'mcp:demo:read', description: 'A.' }],
  });
  demo.answers['get_prompt'] = () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] });
  demo.answers['read_resource'] = () => ({ contents: [{ uri: 'demo://a', text: 'body of it' }] });
  edge = await startEdge({ env: backendEnv({ demo }, { CORTEX_TOOL_INTEGRITY_MODE: 'warn' }) });
  await eventually(() => edge.edge.federation.complete && edge.edge.federation.current.prompts.length === 1);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

type Line = Record<string, unknown>;
const parsed = (from = 0): Line[] => edge.app.lines.slice(from).map((line) => JSON.parse(line) as Line);
/** The lines that an act leaves. */
async function linesOf(act: () => Promise<unknown>): Promise<Line[]> {
  const before = edge.app.lines.length;
  await act();
  return eventually(() => {
    const lines = parsed(before);
    if (lines.length === 0) throw new Error('no line yet');
    return lines;
  });
}
const token = (claims: object = {}) =>
  edge.token({
    scope: `${ALL_SCOPES} mcp:demo:read`,
    email: 'Alice@Example.com',
    metadata: { role: 'engineer' },
    pool: 'blue',
    client_id: 'claude',
    ...claims,
  });

const legacy = async (method: string, params: object = {}) =>
  rawClient(edge.origin, await token()).ask({ body: { jsonrpc: '2.0', id: 1, method, params } });

describe('the line of a tool call', () => {
  it('says who, what, by which scope, for whom and how it went, and is the record of the call', async () => {
    const alice = await token();
    const headers = { origin: 'http://localhost:7001' };
    const [line, ...more] = await linesOf(() =>
      edge.call('sample_echo', { text: 'secret words' }, { token: alice, headers }),
    );
    expect(more).toEqual([]);
    expect(line).toMatchObject({
      _type: 'cortex_audit',
      method: 'tools/call',
      tool: 'sample_echo',
      target_app: 'ticket',
      scope_used: expect.stringContaining('mcp:cortex:'),
      caller_sub: 'alice',
      caller_role: 'engineer',
      caller_pool: 'blue',
      client_id: 'claude',
      caller_email_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      params_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      outcome: 'succeeded',
      success: true,
      era: 'modern',
      transport: 'http',
      protocol_version: '2026-07-28',
      origin: 'http://localhost:7001',
      duration_ms: expect.any(Number),
      result_bytes: expect.any(Number),
      request_id: expect.any(String),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      replica: expect.any(String),
      catalog_version: expect.any(Number),
    });
    const { _type, method, success, ...rest } = line as Line;
    expect(rest).toEqual(await edge.finished({ call_id: String(line?.['call_id']) }));
    void [_type, method, success];
  });

  it('names the backend and the original name of a federated tool', async () => {
    const federated = edge.edge.catalog.all().find((tool) => tool.federated !== undefined)?.name ?? '';
    const alice = await token();
    const [line] = await linesOf(() => edge.call(federated, {}, { token: alice }));
    const { original } = { original: 'größe' };
    expect(line).toMatchObject({
      tool: federated,
      tool_original: original,
      target_app: 'demo',
      scope_used: 'mcp:demo:read',
    });
    const [own] = await linesOf(() => edge.call('whoami', {}, { token: alice }));
    expect(own).toMatchObject({ tool: 'whoami', target_app: 'gateway' });
  });

  it('says by which gate it was refused, and what failed in a tool that ran', async () => {
    const reader = await edge.token({ scope: 'mcp:cortex:read' });
    const [refused] = await linesOf(() => edge.call('sample_risky', { path: 'x' }, { token: reader }));
    expect(refused).toMatchObject({ tool: 'sample_risky', outcome: 'denied', success: false, gate: 'scope' });
    const [unknown] = await linesOf(() => legacy('tools/call', { name: 'no\u202etool' }));
    expect(unknown).toMatchObject({ tool: 'no\u202etool', target_app: null, success: false });
    expect(edge.app.lines.at(-1)).toContain('no\\u202etool');
  });

  it('T92 holds no argument, result, token, address of mail or network, and hashes all with the key', async () => {
    const alice = await token();
    const before = edge.app.lines.length;
    await edge.call('sample_echo', { text: 'very private words' }, { token: alice });
    await edge.ask('tools/list', {}, { token: alice });
    await edge.post('{}', { authorization: 'Bearer nonsense.token.here' });
    await eventually(() => expect(edge.app.lines.length).toBe(before + 3));
    const text = edge.app.lines.slice(before).join('\n');
    for (const word of ['private', 'xample.com', 'nonsense', '127.0.0.1', alice.slice(-20)])
      expect(text).not.toContain(word);
    const [call, , refused] = parsed(before) as [Line, Line, Line];
    const { hash } = edge.edge.records.text;
    expect(call['caller_email_hash']).toBe(hash('alice@example.com'));
    expect(call['params_hash']).toBe(hash('{"text":"very private words"}'));
    expect(refused).toMatchObject({ _type: 'cortex_auth_failure', ip_hash: hash('127.0.0.1') });
    const anonymous = await linesOf(() => edge.call('whoami'));
    expect(anonymous[0]).toMatchObject({ caller_email_hash: expect.stringMatching(/^(anon|[0-9a-f]{16})$/) });
  });
});

describe('the line of a list', () => {
  const listed = async (headers: Record<string, string> = {}) => {
    const alice = await token();
    let text = '';
    const [line] = await linesOf(async () => {
      const { body } = await edge.ask('tools/list', {}, { token: alice, headers });
      text = JSON.stringify(body.result);
    });
    return { line: line as Line, text, tools: (JSON.parse(text) as { tools: unknown[] }).tools };
  };

  it('counts its tools and estimates its tokens as a quarter of its characters, not of its bytes', async () => {
    const { line, text, tools } = await listed();
    expect(Buffer.byteLength(text)).toBeGreaterThan(text.length);
    expect(line).toMatchObject({
      method: 'tools/list',
      params_hash: null,
      success: true,
      tools_listed: tools.length,
      tokens_estimate: Math.ceil(text.length / 4),
    });
    expect(line).not.toHaveProperty('backends_filter');
  });

  it('tells what a filter and the search mode saved', async () => {
    const whole = await listed();
    const { line, tools } = await listed({ 'x-cortex-backends': 'Demo, docs', 'x-cortex-tool-mode': 'search' });
    expect(line).toMatchObject({ backends_filter: 'demo,docs', tool_mode: 'search', tools_listed: tools.length });
    expect(Number(line['tokens_estimate'])).toBeLessThan(Number(whole.line['tokens_estimate']));
  });

  it('is the same for clients of the legacy era', async () => {
    const [line] = await linesOf(() => legacy('tools/list'));
    expect(line).toMatchObject({
      era: 'legacy',
      tools_listed: expect.any(Number),
      tokens_estimate: expect.any(Number),
    });
  });
});

describe('the line of another request', () => {
  it.each([
    ['prompts/get', { name: 'demo_greet' }, { target_app: 'demo', scope_used: 'mcp:demo:read', success: true }],
    ['resources/read', { uri: 'demo://a' }, { target_app: 'demo', scope_used: 'mcp:demo:read', success: true }],
    ['resources/read', { uri: 'demo://none' }, { target_app: 'demo', success: false }],
    ['resources/read', { uri: 'other://none' }, { success: false }],
    ['prompts/list', {}, { success: true, params_hash: null }],
  ])('%s of %j says for whom it was, and by which scope', async (method, params, expected) => {
    const alice = await token();
    const ask = { token: alice, headers: { traceparent: `00-${TRACE}-${'b'.repeat(16)}-01` } };
    const [line] = await linesOf(() => edge.ask(method, params, ask));
    expect(line).toMatchObject({ _type: 'cortex_audit', method, caller_sub: 'alice', trace_id: TRACE, ...expected });
    expect(line).toHaveProperty('caller_email_hash');
    if (!('target_app' in expected)) expect(line).not.toHaveProperty('target_app');
    const { _type, success, ...rest } = line as Line;
    void [_type, success];
    await eventually(async () => expect(await edge.records()).toContainEqual({ type: 'RequestRecorded', ...rest }));
  });
});
