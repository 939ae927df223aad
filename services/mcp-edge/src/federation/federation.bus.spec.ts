import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type Answer, type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

const ECHO = {
  name: 'echo',
  scope: 'mcp:demo:read',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } } },
};
const SAVE = { name: 'save', scope: 'mcp:demo:write', description: 'Saves.', version: '2.1.0' };

let demo: TestBackend;
let edge: EdgeFixture;
let reader: string;
let writer: string;
beforeAll(async () => {
  demo = await testBackend([ECHO, SAVE]);
  demo.answers['echo'] = ({ params }) => params;
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_BACKEND_DEMO_TIMEOUT_MS: '2000' }) });
  await eventually(() => edge.edge.federation.complete);
  reader = await edge.token({ scope: 'mcp:demo:read' });
  writer = await edge.token({ scope: 'mcp:demo:read mcp:demo:write' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const names = async (token?: string): Promise<string[]> =>
  (await edge.ask('tools/list', {}, token === undefined ? {} : { token })).body.result.tools.map(
    (tool: { name: string }) => tool.name,
  );
const call = (tool: string, args: unknown = {}, token = writer): Promise<Answer> => edge.call(tool, args, { token });

describe('the tools of a backend', () => {
  it('are listed behind our own for callers who have the scope, and for nobody else', async () => {
    expect((await names(writer)).slice(-2)).toEqual(['demo_echo', 'demo_save']);
    expect(await names(reader)).toContain('demo_echo');
    expect(await names(reader)).not.toContain('demo_save');
    expect((await names()).filter((name) => name.startsWith('demo_'))).toEqual([]);
  });

  it('are called under their own name, with the arguments untouched', async () => {
    const args = { message: 'hi', workspace_id: 'mine', unknown: null };
    const { body } = await call('demo_echo', args);
    expect(body.result).toMatchObject({
      content: [{ type: 'text', text: JSON.stringify(args) }],
      resultType: 'complete',
    });
    expect(body.result._meta['cortex/provenance']).toMatchObject({
      backend: 'demo',
      tool: 'echo',
      version: '1.0.0',
      kind: 'contract',
    });
    expect(demo.asked.at(-1)).toMatchObject({
      method: 'echo',
      params: args,
      context: { era: 'modern', toolName: 'demo_echo' },
    });
  });

  it('are refused without their scope, and the backend does not hear of it', async () => {
    const before = demo.asked.length;
    const { status, body } = await call('demo_save', {}, reader);
    expect(status).toBe(403);
    expect(body.error).toMatchObject({
      code: -32603,
      message: 'Insufficient scope',
      data: { required: ['mcp:demo:write'] },
    });
    expect(demo.asked.length).toBe(before);
  });

  it('are recorded with their backend and their own name', async () => {
    await call('demo_echo', { message: 'recorded' });
    expect(await edge.finished({ tool: 'demo_echo', outcome: 'succeeded' })).toMatchObject({
      service: 'mcp-edge',
      target_app: 'demo',
      tool_original: 'echo',
      scope_used: 'mcp:demo:read',
      token_mode: 'passthrough',
    });
  });

  it('P29 go when the backend is away, while the rest stays, and come back by themselves', async () => {
    const told = async () => String((await edge.ask('server/discover')).body.result.instructions);
    expect(await told()).toContain('Federated backends: demo.');
    await demo.shut();
    await edge.edge.federation.refresh();
    expect(await told()).toContain('Federated backends: none yet.');
    expect((await names(writer)).filter((name) => name.startsWith('demo_'))).toEqual([]);
    expect(await names(writer)).toContain('whoami');
    await demo.open();
    await edge.edge.federation.refresh();
    expect(await names(writer)).toContain('demo_echo');
  });
});

describe('what a backend answers', () => {
  it.each([
    [401, {}, 'Backend auth failed — token may have expired', undefined, 'unauthenticated'],
    [
      403,
      { required: 'mcp:demo:admin' },
      'Backend refused scope',
      { required: 'mcp:demo:admin', method: 'save' },
      'permission_denied',
    ],
    [403, { error: 'not yours' }, 'Backend ACL denied', { reason: 'not yours' }, 'permission_denied'],
    [500, { error: 'boom' }, 'Backend 500: boom', { status: 500, backendError: { error: 'boom' } }, 'unavailable'],
  ])('%i %j is an error of JSON-RPC', async (status, said, message, data, kind) => {
    demo.answers['save'] = (_asked, res) => json(res, status, said);
    const { status: http, body } = await call('demo_save');
    expect(http).toBe(200);
    expect(body.error).toEqual({ code: -32603, message, ...(data !== undefined && { data }) });
    await edge.finished({
      tool: 'demo_save',
      outcome: 'failed',
      error_kind: kind as 'unavailable',
      error_code: '-32603',
    });
  });

  it('another 4xx is a result with isError, in the words of the backend', async () => {
    demo.answers['save'] = (_asked, res) => json(res, 409, { error: 'there already', id: 7 });
    const { result } = (await call('demo_save')).body;
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'there already' }] });
    expect(result._meta['cortex/backendError']).toEqual({ status: 409, body: { error: 'there already', id: 7 } });
    await edge.finished({ tool: 'demo_save', outcome: 'failed', error_kind: 'conflict', error_code: 'tool_error' });
  });
});

it('the meters tell of each backend what came of its calls and whether it is up', async () => {
  demo.answers['save'] = (_asked, res) => json(res, 500, {});
  await call('demo_save');
  await call('demo_echo', {});
  const text = await (await fetch(`${edge.origin}/metrics`)).text();
  expect(text).toMatch(/gw_backend_calls_total\{[^}]*backend="demo"[^}]*outcome="result"[^}]*\} [1-9]/);
  expect(text).toMatch(/gw_backend_calls_total\{[^}]*backend="demo"[^}]*outcome="failed"[^}]*\} [1-9]/);
  expect(text).toMatch(/gw_backend_up\{[^}]*backend="demo"[^}]*\} 1/);
  expect(text).toMatch(/gw_refresh_seconds_count(\{[^}]*\})? [1-9]/);
  expect(text).toMatch(/gw_catalog_items\{[^}]*kind="tool"[^}]*\} [1-9]/);
});
