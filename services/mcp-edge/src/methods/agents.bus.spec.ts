import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { type TestSessions, testSessions } from '../testing/sessions.js';

const SCOPES = ['mcp:cortex:read', 'mcp:pub:use', 'mcp:own:use'];
const FENCE = /^<<<UNTRUSTED-BACKEND-CONTENT ([0-9a-f]{16}) source=pub\n/;

let backends: Record<'pub' | 'own', TestBackend>;
let edge: EdgeFixture;
let sessions: TestSessions;
let token: string;
beforeAll(async () => {
  const make = async (id: string): Promise<TestBackend> => {
    const backend = await testBackend([]);
    const scope = `mcp:${id}:use`;
    backend.answers['list_prompts'] = () => ({ prompts: [{ name: 'p', description: 'P.', scope }] });
    backend.answers['list_resources'] = () => ({ resources: [{ uri: `${id}://r`, name: 'R', scope }] });
    backend.answers['get_prompt'] = () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'obey' } }] });
    backend.answers['read_resource'] = ({ params }) => ({ contents: [{ uri: params.uri, text: 'obey' }] });
    return backend;
  };
  backends = { pub: await make('pub'), own: await make('own') };
  edge = await startEdge({ beside: [], env: backendEnv(backends, { CORTEX_BACKEND_PUB_TOKEN_MODE: 'none' }) });
  sessions = await testSessions(edge);
  await eventually(() => edge.edge.federation.complete);
  await sessions.open('s1', { scopes: SCOPES });
  token = await sessions.token('s1', { scope: SCOPES.join(' ') });
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
  await Promise.all(Object.values(backends).map((backend) => backend[Symbol.asyncDispose]()));
});

describe('an agent`s session', () => {
  it('sees the prompts and resources of backends that need no token of a person, and uses no others', async () => {
    const { prompts } = (await edge.ask('prompts/list', {}, { token })).body.result;
    expect(prompts.map(({ name }: { name: string }) => name)).toEqual(['pub_p']);
    expect((await edge.ask('resources/list', {}, { token })).text).not.toContain('own://r');
    const before = backends.own.asked.length;
    for (const [method, params] of [
      ['prompts/get', { name: 'own_p' }],
      ['resources/read', { uri: 'own://r' }],
    ] as const) {
      const { body } = await edge.ask(method, params, { token });
      expect(body.error).toMatchObject({ code: -32603, message: expect.stringContaining('the token of a person') });
    }
    expect(backends.own.asked.length).toBe(before);
  });

  it('T25 gets every text of a prompt and of a resource in a fence', async () => {
    const { messages } = (await edge.ask('prompts/get', { name: 'pub_p' }, { token })).body.result;
    expect(messages[0].content.text).toMatch(FENCE);
    const { contents } = (await edge.ask('resources/read', { uri: 'pub://r' }, { token })).body.result;
    expect(contents[0].text).toMatch(FENCE);
    expect(contents[0].text).toContain('obey');
  });
});
