import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CallFinished } from '@cortex/contracts';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { personOf, told, workspaceWith } from '../testing/gate-log.js';
import { ran, seen } from '../testing/sample-tools.js';
import { testSessions, type TestSessions } from '../testing/sessions.js';
import type { ExplainStep, Explanation } from './explain.js';

const SECRET = 'of the operators';
const HARD = { origin: 'manual', created_by: 'per_ana', scope_type: 'workspace', enforcement: 'hard' } as const;
const rule = (workspace: string, id: string, decision: 'deny' | 'allow') =>
  ({ ...HARD, id, workspace_id: workspace, scope_id: workspace, action_class: 'vendorSyncWrite', decision }) as const;

let edge: EdgeFixture;
let sessions: TestSessions;
let me: string;
beforeAll(async () => {
  edge = await startEdge({ env: { CORTEX_ADMIN_SECRET: SECRET, CORTEX_REQUIRED_POOL: 'blue' } });
  sessions = await testSessions(edge);
  me = await personOf(edge);
  await workspaceWith(edge, 'open', {
    members: [me],
    approval_mode: 'write',
    rules: [rule('open', 'r_allow', 'allow')],
  });
  await workspaceWith(edge, 'shut', { members: [me], rules: [rule('shut', 'r_deny', 'deny')], spaces: { s: 'plan' } });
  await workspaceWith(edge, 'bare', { members: [me], spaces: { s: 'review' } });
  await workspaceWith(edge, 'other', {});
  await sessions.open('in-open', { workspace: 'open', person_id: me });
  await sessions.open('nowhere', { groups: ['cortex-core'] });
});
afterAll(async () => {
  await sessions[Symbol.asyncDispose]();
  await edge[Symbol.asyncDispose]();
});

const token = (claims: object = {}) => edge.token({ pool: 'blue', ...claims });
async function post(body: unknown, secret = SECRET): Promise<{ status: number; text: string }> {
  const response = await fetch(`${edge.origin}/api/admin/explain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-cortex-admin-secret': secret },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}
async function explained(tool: string, bearer: string, args?: object): Promise<Explanation> {
  const { status, text } = await post({ tool, token: bearer, ...(args !== undefined && { arguments: args }) });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Explanation;
}
const step = ({ steps }: Explanation, gate: string): ExplainStep | undefined => steps.find((one) => one.gate === gate);
const stops = ({ result }: ExplainStep): boolean => result === 'refuse' || result === 'ask';

const CALLERS: [name: string, make: () => Promise<string>][] = [
  ['a person with all scopes', () => token()],
  ['a person who may read', () => token({ scope: 'mcp:cortex:read' })],
  ['a person without a scope', () => token({ scope: '' })],
  ['an agent in a workspace', () => sessions.token('in-open', { sub: me })],
  ['an agent in none', () => sessions.token('nowhere', { groups: ['cortex-core'] })],
];
const CALLS: [tool: string, args: object][] = [
  ['whoami', {}],
  ['sample_echo', { text: 'x' }],
  ['sample_echo', { txt: 'x' }],
  ['sample_eko', {}],
  ['sample_risky', { path: 'x' }],
  ['sample_spawn', { command: 'ls' }],
  ['sample_asks', {}],
  ['sample_session', {}],
  ['sample_workspace', { title: 'x' }],
  ['mcp__cortex__sample_echo', { text: 'x' }],
  ...['open', 'shut', 'bare', 'other', 'none'].flatMap((workspace_id): [string, object][] => [
    ['sample_workspace', { title: 'x', workspace_id }],
    ['sample_ticket', { title: 'x', workspace_id }],
    ['sample_ticket', { title: 'x', workspace_id, space_id: 's' }],
  ]),
];

describe('explain and the call itself', () => {
  it.each(CALLERS)('agree for %s, whatever is called: the same gate stops both, or none', async (_, make) => {
    const bearer = await make();
    const { body: list } = await edge.ask('tools/list', {}, { token: bearer });
    const names = new Set((list.result.tools as { name: string }[]).map(({ name }) => name));
    const earlier = (await edge.records()).length;
    const foretold: unknown[] = [];
    for (const [tool, args] of CALLS) {
      const said = await explained(tool, bearer, args);
      const { body } = await edge.call(tool, args, { token: bearer });
      const first = said.steps.find(stops);
      foretold.push([tool, args, first?.gate, said.callable === 'yes']);
      expect([tool, said.listed]).toEqual([tool, names.has(said.tool)]);
      // In the same words.
      if (first?.result === 'refuse' && body.result) expect(body.result.content[0].text).toContain(first.why);
    }
    const calls = (await edge.records())
      .slice(earlier)
      .filter((record): record is CallFinished => record.type === 'ToolCallFinished');
    expect(foretold).toEqual(calls.map(({ gate, outcome }, i) => [...(CALLS[i] ?? []), gate, outcome === 'succeeded']));
  });
});

describe('an explanation', () => {
  it('names the rule that decides, who wrote it, and who can change it', async () => {
    await workspaceWith(edge, 'ruled', { rules: [rule('ruled', 'r_19', 'deny')], members: [me] });
    const admin = { principal_id: 'per_ana', role: 'admin' } as const;
    await told(edge, 'team.workspace', { workspace: 'ruled' }, { type: 'WorkspaceMemberSet', data: admin });
    const said = await explained('sample_ticket', await token(), { title: 'x', workspace_id: 'ruled' });
    expect(step(said, 'guard_rail')).toEqual({
      gate: 'guard_rail',
      result: 'refuse',
      why: 'sample_ticket is denied by the guard rail for vendorSyncWrite (rule:r_19)',
      source: { kind: 'guard_rule', id: 'r_19', author: 'per_ana' },
      fix: { text: 'ask an admin of the workspace to change the rule', who: ['per_ana'] },
    });
    expect(said.callable).toBe('no');
  });

  it('goes on behind the first refusal', async () => {
    const reader = await token({ scope: 'mcp:cortex:read' });
    const said = await explained('sample_ticket', reader, { title: 'x', workspace_id: 'shut', space_id: 's' });
    const refused = said.steps.filter(({ result }) => result === 'refuse').map(({ gate }) => gate);
    expect(refused).toEqual(['scope', 'mode', 'guard_rail']);
    expect(step(said, 'scope')).toMatchObject({
      why: 'scope lacks mcp:cortex:write',
      source: { kind: 'scope', id: 'mcp:cortex:write' },
      fix: { text: 'get a token with it', who: ['an admin of the issuer'] },
    });
    expect([said.listed, said.callable]).toEqual([false, 'no']);
  });

  it('says that a person is asked, and asks none', async () => {
    let asked = 0;
    edge.edge.confirmation.port = { ask: () => Promise.resolve({ outcome: 'approved', id: String(++asked), by: me }) };
    const said = await explained('sample_ticket', await token(), { title: 'x', workspace_id: 'bare' });
    expect([said.callable, asked]).toEqual(['asks', 0]);
    expect(step(said, 'guard_rail')).toMatchObject({
      result: 'ask',
      why: 'a person has to approve it (vendorSyncWrite)',
      source: { kind: 'built_in' },
    });
    expect(step(said, 'approval')?.result).toBe('pass');
  });

  it('says which gates need arguments where none were given', async () => {
    const said = await explained('sample_ticket', await token());
    const open = said.steps.filter(({ result }) => result === 'needs_arguments').map(({ gate }) => gate);
    expect([said.callable, open]).toEqual(['yes', ['arguments', 'workspace', 'mode', 'guard_rail', 'approval']]);
    // The token of an agent says where it is.
    const agent = await explained('sample_ticket', await sessions.token('in-open', { sub: me }));
    expect(agent.steps.filter(({ result }) => result === 'needs_arguments').map(({ gate }) => gate)).toEqual([
      'arguments',
    ]);
  });

  it.each([
    ['expired', { exp: Math.floor(Date.now() / 1000) - 600 }],
    ['audience', { aud: 'account' }],
    ['issuer', { iss: 'https://elsewhere.example' }],
    ['no_sub', { sub: undefined }],
  ])('of a refused token says why: %s', async (reason, claims) => {
    const said = await explained('sample_echo', await token(claims), { text: 'x' });
    expect(said).toMatchObject({ caller: null, listed: false, callable: 'no' });
    expect(said.steps).toMatchObject([
      { gate: 'authenticate', result: 'refuse', source: { kind: 'token', id: reason } },
    ]);
  });

  it('of a token for another audience says what the issuer has to write', async () => {
    const said = await explained('sample_echo', await token({ aud: 'account' }));
    expect(said.steps[0]?.fix).toEqual({
      text: `have the issuer write ${edge.url} into aud`,
      who: ['an admin of the issuer'],
    });
  });

  it('of a token of another pool says so, and what is behind it', async () => {
    const said = await explained('sample_echo', await token({ pool: 'red' }), { text: 'x' });
    expect(step(said, 'pool')).toMatchObject({ result: 'refuse', source: { kind: 'claim', id: 'pool' } });
    expect([said.listed, said.callable, step(said, 'scope')?.result]).toEqual([false, 'no', 'pass']);
  });
});

describe('T19 a question', () => {
  it('is answered for the admin secret alone', async () => {
    const body = { tool: 'sample_echo', token: await token() };
    for (const secret of ['', 'x', await token({ scope: 'mcp:cortex:admin' })])
      expect((await post(body, secret)).status).toBe(401);
  });

  it.each([
    {},
    { tool: 'x' },
    { tool: 7, token: 'x' },
    { tool: 'x', token: 'x', arguments: [] },
    { tool: 'x', token: 'x', as: 'root' },
    [],
  ])('that is none is refused: %j', async (body) =>
    expect(await post(body)).toMatchObject({ status: 400, text: expect.stringContaining('invalid_argument') }),
  );

  it('runs nothing, takes no permit, notes nobody as seen, and leaves one record without the token', async () => {
    const stranger = await token({ sub: 'never-came' });
    const before = { runs: [...seen.runs.values()].reduce((a, b) => a + b, 0), echo: ran('sample_echo') };
    const earlier = await edge.records();
    const first = await explained('sample_echo', stranger, { text: 'hidden words' });
    const again = await explained('sample_echo', stranger, { text: 'hidden words' });
    expect(step(again, 'rate_limit')).toEqual(step(first, 'rate_limit'));
    expect({ runs: [...seen.runs.values()].reduce((a, b) => a + b, 0), echo: ran('sample_echo') }).toEqual(before);
    const people = await edge.postgres.pool().query(`select 1 from mcp_edge.people where sub = 'never-came'`);
    expect(people.rowCount).toBe(0);
    const records = (await edge.records()).slice(earlier.length);
    expect(records).toMatchObject([
      { type: 'RequestRecorded', method: '_explain', caller_sub: 'operator', outcome: 'succeeded' },
      { type: 'RequestRecorded', method: '_explain' },
    ]);
    const signature = stranger.split('.')[2] ?? '';
    expect(JSON.stringify([records, first])).not.toContain(signature);
    expect(JSON.stringify(records)).not.toContain('hidden words');
  });
});

describe('a caller without a token', () => {
  const about = async (caller: object, tool = 'sample_risky', more: object = {}) => {
    const { status, text } = await post({ tool, caller, ...more });
    return { status, answer: JSON.parse(text) as Explanation & { error?: string; message?: string } };
  };

  it.each([
    ['a session', () => ({ session: 'in-open' }), () => sessions.token('in-open', { sub: me })],
    [
      'a session in no workspace',
      () => ({ session: 'nowhere' }),
      () => sessions.token('nowhere', { groups: ['cortex-core'] }),
    ],
    ['a person by id', () => ({ person: me }), () => token()],
    ['a person by sub', () => ({ person: 'alice' }), () => token()],
  ])('is judged as with one: %s', async (_who, named, bearer) => {
    const args = { workspace_id: 'shut' };
    for (const tool of ['sample_echo', 'sample_workspace', 'sample_risky']) {
      const { status, answer } = await about(named(), tool, { arguments: args });
      const withToken = await explained(tool, await bearer(), args);
      expect(status).toBe(200);
      expect(answer.caller).toMatchObject({ kind: withToken.caller?.kind, id: withToken.caller?.id });
      const results = ({ steps, listed, callable }: Explanation) => ({
        listed,
        callable,
        steps: steps.map(({ gate, result }) => [gate, result]),
      });
      expect(results(answer)).toEqual(results(withToken));
      expect(step(answer, 'authenticate')).toMatchObject({
        result: 'pass',
        why: expect.stringContaining('no token was given'),
      });
    }
  });

  it('is an agent in its newest open session', async () => {
    await sessions.open('of-bob', { workspace: 'open', person_id: me, agent_id: 'bob' });
    const { answer } = await about({ agent: 'bob' });
    expect(answer.caller).toMatchObject({ kind: 'agent', session_id: 'of-bob', id: 'bob' });
    await sessions.end('of-bob', 'open');
    expect(await about({ agent: 'bob' })).toMatchObject({ status: 404, answer: { error: 'not_found' } });
  });

  it('may be given other scopes, but a session never more than it was started with', async () => {
    const { answer } = await about({ person: me, scopes: ['mcp:cortex:read'] });
    expect(step(answer, 'scope')?.result).toBe('refuse');
    const wider = await about({ session: 'in-open', scopes: ['mcp:cortex:devices'] }, 'sample_risky');
    expect(step(wider.answer, 'scope')?.result).toBe('refuse');
  });

  it('may be put into a conversation, or into a mode where the log shows none', async () => {
    await sessions.open('in-shut', { workspace: 'shut', person_id: me });
    const named = { session: 'in-shut' };
    const free = await about(named, 'sample_workspace', { arguments: {} });
    const planned = await about(named, 'sample_workspace', { arguments: {}, space: 's' });
    expect(step(free.answer, 'mode')?.result).toBe('pass');
    expect(step(planned.answer, 'mode')).toMatchObject({ result: 'refuse', why: expect.stringContaining('plan') });
    const imagined = await about(named, 'sample_workspace', { arguments: {}, mode: 'plan' });
    expect(step(imagined.answer, 'mode')?.result).toBe('refuse');
  });

  it('that ended is refused as its token would be', async () => {
    await sessions.open('short', { workspace: 'open', person_id: me });
    await sessions.end('short', 'open');
    const { answer } = await about({ session: 'short' });
    expect(answer).toMatchObject({ caller: null, steps: [{ gate: 'authenticate', source: { id: 'session_closed' } }] });
  });

  it.each([
    ['nobody', {}, 400],
    ['two', { session: 'in-open', person: 'alice' }, 400],
    ['somebody who never came', { person: 'nobody-at-all' }, 404],
    ['a person in a mode', { person: 'alice' }, 400, { mode: 'plan' }],
    ['a name that is none', { session: '' }, 400],
  ])('is one that is known: %s', async (_what, caller, status, more: object = {}) => {
    expect(await about(caller, 'sample_risky', more)).toMatchObject({
      status,
      answer: { message: expect.any(String) },
    });
  });
});
