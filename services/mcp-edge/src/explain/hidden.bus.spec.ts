import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, testBackend, type TestBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { personOf, workspaceWith } from '../testing/gate-log.js';
import { ADMIN_SECRET, operator } from '../testing/operator.js';
import { sampleService } from '../testing/sample-tools.js';
import { testSessions, type TestSessions } from '../testing/sessions.js';
import type { Explanation } from './explain.js';

const SCOPE = 'mcp:cortex:read mcp:cortex:write mcp:demo:use';
/** Grows without end when its references are put in their places. */
const DOUBLING = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/l0' } },
  $defs: Object.fromEntries(
    Array.from({ length: 13 }, (_, i) => {
      const next = { $ref: `#/$defs/l${i + 1}` };
      return [`l${i}`, i === 12 ? {} : { properties: { a: next, b: next } }];
    }),
  ),
};
const tool = (name: string, more: object = {}) => ({
  name,
  scope: 'mcp:demo:use',
  description: `Does ${name}.`,
  ...more,
});

let demo: TestBackend;
let edge: EdgeFixture;
let sessions: TestSessions;
beforeAll(async () => {
  demo = await testBackend([
    tool('plain'),
    tool('large', { inputSchema: DOUBLING }),
    tool('poison', { description: 'Fine.\u200b' }),
    tool('rare', { scope: 'mcp:demo:rare' }),
    tool('foreign', { scope: 'mcp:other:use' }),
    tool('dangling', { inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } } }),
  ]);
  edge = await startEdge({
    beside: [sampleService],
    env: backendEnv({ demo }, { CORTEX_ADMIN_SECRET: ADMIN_SECRET, CORTEX_BACKEND_DEMO_TOKEN_MODE: 'none' }),
  });
  await eventually(() => edge.edge.federation.complete);
  sessions = await testSessions(edge);
  await workspaceWith(edge, 'w1', { members: [await personOf(edge)], spaces: { planning: 'plan' } });
  await sessions.open('s1', { scopes: SCOPE.split(' ') });
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const explained = async (name: string, token: string, args?: object): Promise<Explanation> =>
  (await operator(edge, 'POST', 'explain', { tool: name, token, ...(args && { arguments: args }) }))
    .body as Explanation;

describe('a tool that its backend declares and nobody is offered', () => {
  it.each([
    ['of a scope that is not its own', 'demo_foreign', 'it has the scope mcp:other:use, which is under none of'],
    ['with a schema that cannot be offered', 'demo_dangling', 'it has an inputSchema that cannot be offered'],
  ])('%s: an operator is told that it is left out, and why', async (_why, name, why) => {
    const said = await explained(name, await edge.token({ scope: SCOPE }));
    expect(said.steps.filter(({ result }) => result === 'refuse')).toMatchObject([
      { why: expect.stringContaining(why), source: { kind: 'backend', id: 'demo' } },
    ]);
  });
});

describe('P40 a tool that a list leaves out', () => {
  it.each([
    ['for its scope', 'demo_rare', 'scope', {}],
    ['for the review of its definition', 'demo_poison', 'quarantine', {}],
    ['for the allow-list of a session', 'demo_plain', 'composition', { allowlist: ['demo/large'] }],
  ])('%s: an operator is told which gate it is, and why', async (_why, name, gate, claims) => {
    const agent = 'allowlist' in claims;
    const token = agent ? await sessions.token('s1', { scope: SCOPE, ...claims }) : await edge.token({ scope: SCOPE });
    const { tools } = (await edge.ask('tools/list', {}, { token })).body.result;
    expect(tools.map((listed: { name: string }) => listed.name)).not.toContain(name);
    const said = await explained(name, token);
    const [first] = said.steps.filter(({ result }) => result === 'refuse');
    expect([said.listed, first?.gate, typeof first?.why, first?.fix !== undefined]).toEqual([
      false,
      gate,
      'string',
      true,
    ]);
  });

  it('for a scope that a session lacks: another session helps, and no issuer', async () => {
    const said = await explained('demo_rare', await sessions.token('s1', { scope: SCOPE }));
    expect(said.steps.find(({ gate }) => gate === 'scope')?.fix).toEqual({
      text: 'open another session with it',
      who: ['whoever opens the session'],
    });
  });

  it('for the form of its schema is named in the list itself, and can be called', async () => {
    const token = await edge.token({ scope: SCOPE });
    const headers = { 'x-cortex-schema-profile': 'inline' };
    const { result } = (await edge.ask('tools/list', {}, { token, headers })).body;
    expect(result._meta['cortex/schemaProfile']).toMatchObject({ profile: 'inline', omitted: ['demo_large'] });
    expect(result.tools.map((listed: { name: string }) => listed.name)).not.toContain('demo_large');
    demo.answers['large'] = () => 'called';
    expect((await edge.call('demo_large', {}, { token, headers })).body.result.content[0].text).toBe('called');
  });

  it('for the mode of a conversation is told to its caller, with the number of those and the reason of each', async () => {
    const token = await edge.token({ scope: SCOPE });
    const where = { workspace_id: 'w1', space_id: 'planning' };
    const said = (await edge.call('list_my_tools', where, { token })).body.result.structuredContent;
    expect(said.restricted_count).toBe(said.restricted.length);
    expect(said.restricted).toContainEqual(
      expect.objectContaining({ name: 'demo_plain', reason: expect.stringContaining('plan mode') }),
    );
    expect(JSON.stringify(said)).not.toMatch(/demo_(rare|poison)/);
  });
});

it('of arguments that a backend checks itself an explanation does not say that they fit', async () => {
  const said = await explained('demo_plain', await edge.token({ scope: SCOPE }), { a: 1 });
  expect(said.steps.find(({ gate }) => gate === 'arguments')).toMatchObject({
    result: 'pass',
    why: 'a call has those of a backend checked, a question does not',
  });
});
