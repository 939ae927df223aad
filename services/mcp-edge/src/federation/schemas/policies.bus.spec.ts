import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../../testing/backend.js';
import { type EdgeFixture, startEdge } from '../../testing/edge-fixture.js';

const INPUT = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  anyOf: [{ required: ['n'] }, { required: ['m'] }],
};

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  demo = await testBackend([
    {
      name: 'sum',
      scope: 'mcp:demo:read',
      description: 'Adds.',
      inputSchema: INPUT,
      outputSchema: { type: 'integer' },
    },
  ]);
  demo.answers['sum'] = ({ params }) => params.n ?? 'none';
  const env = backendEnv(
    { demo },
    {
      CORTEX_VALIDATE_RESULTS: 'strict',
      CORTEX_VALIDATE_ARGUMENTS: 'true',
      CORTEX_SCHEMA_PROFILE: 'strip',
      CORTEX_SCHEMA_PROFILE_RULES: 'Old *=basic; spec=original',
    },
  );
  edge = await startEdge({ beside: [], env });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:demo:read' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const call = async (args: object) => (await edge.call('demo_sum', args, { token })).body;
const profile = async (client: string | undefined, headers: Record<string, string> = {}): Promise<string> => {
  const meta = {
    'io.modelcontextprotocol/clientInfo': client === undefined ? undefined : { name: client, version: '1' },
  };
  const { body } = await edge.ask('tools/list', {}, { token, meta, headers });
  return body.result._meta['cortex/schemaProfile']?.profile ?? 'original';
};

describe('with CORTEX_VALIDATE_ARGUMENTS', () => {
  it('a refusal names the rule of the original, whatever form the client saw, and no backend is asked', async () => {
    const before = demo.asked.length;
    // The first check on a busy machine may be over its time.
    const { result } = await eventually(async () => {
      const body = await call({ x: 1 });
      if (!body.result.content[0].text.includes('anyOf')) throw new Error(body.result.content[0].text);
      return body;
    });
    expect(result).toMatchObject({ isError: true, _meta: { 'cortex/provenance': { backend: 'demo' } } });
    expect(result.content[0].text).toContain('arguments must match a schema in anyOf (#/anyOf)');
    expect(demo.asked.length).toBe(before);
    await edge.finished({ tool: 'demo_sum', outcome: 'failed' });
  });
  it('arguments that fit reach the backend as they were sent', async () => {
    await eventually(async () => expect((await call({ n: 3, more: [1.5] })).result?.structuredContent).toBe(3));
    expect(demo.asked.at(-1)?.params).toEqual({ n: 3, more: [1.5] });
  });
});

it('with CORTEX_VALIDATE_RESULTS=strict a result that does not fit is an invalid response', async () => {
  const body = await eventually(async () => {
    const answer = await call({ m: 1 });
    if (answer.error === undefined) throw new Error('the arguments were not checked in time');
    return answer;
  });
  expect(body.error).toMatchObject({ code: -32603, message: 'Backend demo sent an invalid response' });
});

describe('the profile of who asks for none', () => {
  it('is that of the installation', async () => expect(await profile(undefined)).toBe('strip'));
  it('is that of a rule for the name of the client, whatever its case', async () => {
    expect(await profile('OLD client')).toBe('basic');
    expect(await profile('spec')).toBe('original');
    expect(await profile('new')).toBe('strip');
  });
  it('gives way to what is asked for', async () =>
    expect(await profile('old client', { 'x-cortex-schema-profile': 'original' })).toBe('original'));
  it('is that of the session in the older revisions', async () => {
    const headers = { authorization: `Bearer ${token}` };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'Old thing', version: '1' } };
    const begun = await edge.post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, headers);
    const session = {
      ...headers,
      'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    };
    const { body } = await edge.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, session);
    expect(body.result._meta['cortex/schemaProfile']).toMatchObject({ profile: 'basic' });
  });
});
