import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { nobodyReachable } from '../guard/confirmation.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { workspaceWith } from '../testing/gate-log.js';
import { ran } from '../testing/sample-tools.js';

let edge: EdgeFixture;
let me: string;
beforeAll(async () => {
  edge = await startEdge();
  me = (await edge.call('whoami')).body.result.structuredContent.identity.sub;
});
afterAll(async () => edge[Symbol.asyncDispose]());
afterEach(() => {
  edge.edge.confirmation.port = nobodyReachable;
});

const fault = (answer: Awaited<ReturnType<EdgeFixture['call']>>) => answer.body.result?._meta?.['cortex/error'];

describe('resolve tool', () => {
  it('an unknown name is an error of the protocol with near names and where to look', async () => {
    const { status, body } = await edge.call('sample_eko', {});
    expect(status).toBe(200);
    expect(body.error.code).toBe(-32602);
    expect(body.error.message).toMatch(
      /^Unknown tool: sample_eko\. Close names: .*sample_echo.*search_tool_bm25 or list_my_tools\.$/,
    );
    expect(await edge.finished({ tool: 'sample_eko', outcome: 'denied' })).toMatchObject({
      gate: 'resolve_tool',
      error_kind: 'not_found',
      error_code: '-32602',
    });
  });
  it('a name from outside never makes a subject of its own', async () => {
    await edge.call('made.up>*', {});
    const names = (await edge.records()).filter(
      (record) => record.type === 'ToolCallFinished' && record.tool === 'made.up>*',
    );
    expect(names).toHaveLength(1);
  });
  it('a prefix that a client puts before the name is understood', async () => {
    expect((await edge.call('mcp__any-server__sample_echo', { text: 'x' })).body.result.structuredContent).toEqual({
      text: 'x',
    });
  });
});

describe('scope', () => {
  it('a missing one is 403 with a challenge that names all that is needed, and nothing runs', async () => {
    const before = ran('sample_spawn');
    const token = await edge.token({ scope: 'mcp:cortex:write' });
    const { status, headers, body } = await edge.call('sample_spawn', { command: 'ls' }, { token });
    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toMatch(/insufficient_scope.*mcp:cortex:devices:exec/);
    expect(body.error).toEqual({
      code: -32603,
      message: 'Insufficient scope',
      data: { required: ['mcp:cortex:write', 'mcp:cortex:devices:exec'], granted: ['mcp:cortex:write'] },
    });
    expect(ran('sample_spawn')).toBe(before);
    expect(await edge.finished({ tool: 'sample_spawn', outcome: 'denied' })).toMatchObject({
      gate: 'scope',
      reason: 'refused_by_scope',
    });
  });
  it('one that stands for others is enough', async () => {
    const token = await edge.token({ scope: 'mcp:cortex:write mcp:cortex:devices' });
    expect((await edge.call('sample_spawn', { command: 'ls' }, { token })).body.result.structuredContent).toEqual({
      command: 'ls',
    });
  });
});

describe('session composition', () => {
  it('a tool that needs a session is refused to a client without one', async () => {
    const answer = await edge.call('sample_session', {});
    expect(fault(answer)).toMatchObject({ kind: 'failed_precondition', reason: 'no_session' });
  });
});

describe('arguments', () => {
  it.each<[string, unknown, object]>([
    [
      'an unknown one names the nearest',
      { text: 'x', tymes: 2 },
      { field: 'tymes', reason: 'unknown_argument', message: 'tymes is no known argument; did you mean times?' },
    ],
    ['a missing one is named', {}, { field: 'text', message: expect.stringContaining('is missing') }],
    ['a wrong type is named', { text: 7 }, { field: 'text', message: expect.stringContaining('must be a text') }],
    ['one out of bounds is named', { text: 'x', times: 99 }, { field: 'times' }],
    ['a list instead of an object', [], { field: 'arguments' }],
    ['a text instead of an object', 'x', { field: 'arguments' }],
  ])('%s', async (_rule, args, expected) => {
    const before = ran('sample_echo');
    const answer = await edge.call('sample_echo', args);
    expect([answer.status, answer.body.result.isError]).toEqual([200, true]);
    expect(fault(answer)).toMatchObject({
      kind: 'invalid_argument',
      retryable: false,
      call_id: expect.any(String),
      ...expected,
    });
    expect(answer.body.result.content).toEqual([{ type: 'text', text: fault(answer).message }]);
    expect(ran('sample_echo')).toBe(before);
  });
  it('an optional one may be null', async () => {
    expect((await edge.call('sample_echo', { text: 'x', times: null })).body.result.structuredContent).toEqual({
      text: 'x',
    });
  });
  it('an idempotency key that is no text is refused, not forgotten', async () => {
    for (const key of [7, '', 'k'.repeat(257)])
      expect(
        fault(await edge.call('sample_echo', { text: 'x' }, { meta: { 'cortex/idempotencyKey': key } })),
      ).toMatchObject({ kind: 'invalid_argument' });
  });
});

describe('the workspace', () => {
  const title = 'x';
  it("has to be named, to exist, and to be the caller's", async () => {
    expect(fault(await edge.call('sample_workspace', { title }))).toMatchObject({ reason: 'workspace_required' });
    expect(fault(await edge.call('sample_workspace', { title, workspace_id: '' }))).toMatchObject({
      reason: 'workspace_required',
    });
    expect(fault(await edge.call('sample_workspace', { title, workspace_id: 'w' }))).toMatchObject({
      kind: 'not_found',
      reason: 'workspace_not_found',
    });
    await workspaceWith(edge, 'w');
    expect(fault(await edge.call('sample_workspace', { title, workspace_id: 'w' }))).toMatchObject({
      kind: 'permission_denied',
      reason: 'not_a_member',
    });
    expect(ran('sample_workspace')).toBe(0);
  });
});

describe('guard rail and approval', () => {
  it('what must be asked is refused while nobody can be reached, and does not run', async () => {
    for (const tool of ['sample_risky', 'sample_asks']) {
      const answer = await edge.call(tool, tool === 'sample_risky' ? { path: 'x' } : {});
      expect(fault(answer)).toMatchObject({
        kind: 'failed_precondition',
        reason: 'approval_unavailable',
        retryable: false,
      });
      expect(ran(tool)).toBe(0);
    }
    expect(await edge.finished({ tool: 'sample_risky', outcome: 'denied' })).toMatchObject({
      outcome: 'denied',
      gate: 'guard_rail',
      decision: 'prompt',
      source: 'built-in',
      classes: ['fileDelete'],
      reason: 'approval_unavailable',
    });
    expect(await edge.finished({ tool: 'sample_asks' })).toMatchObject({ outcome: 'denied', gate: 'approval' });
  });
  it('a yes lets the call pass once, a no refuses it', async () => {
    edge.edge.confirmation.port = { ask: ({ id }) => Promise.resolve({ outcome: 'approved', id, by: 'per_1' }) };
    expect((await edge.call('sample_risky', { path: 'x' })).body.result.structuredContent).toEqual({ path: 'x' });
    expect((await edge.call('sample_asks', {})).body.result.structuredContent).toEqual({ done: true });
    expect(await edge.finished({ tool: 'sample_asks', outcome: 'succeeded' })).toMatchObject({ approved_by: 'per_1' });
    edge.edge.confirmation.port = { ask: () => Promise.resolve({ outcome: 'denied' }) };
    expect(fault(await edge.call('sample_risky', { path: 'x' }))).toMatchObject({
      kind: 'permission_denied',
      reason: 'approval_denied',
    });
  });
  it('classes that are allowed by default run and leave what was decided in the record', async () => {
    await edge.call('sample_spawn', { command: 'ls' });
    expect(await edge.finished({ tool: 'sample_spawn', outcome: 'succeeded' })).toMatchObject({
      decision: 'allow',
      source: 'built-in',
      classes: ['processSpawn'],
    });
  });
});

describe('errors of a service', () => {
  it('its own error comes through as it is', async () => {
    expect(fault(await edge.call('sample_fail', { how: 'unavailable' }))).toMatchObject({
      kind: 'unavailable',
      reason: 'upstream_failed',
      message: 'weather is bad; wait for the sun',
      retryable: true,
    });
  });
  it('a bug gives the call id and hides the rest', async () => {
    const answer = await edge.call('sample_fail', { how: 'bug' });
    expect(fault(answer)).toMatchObject({ kind: 'internal', call_id: expect.any(String) });
    expect(answer.text).not.toContain('/srv/cortex');
    expect(fault(answer).message).toContain(fault(answer).call_id);
  });
  it('a result that says isError is whole, and is no success on record', async () => {
    const { body } = await edge.call('sample_fail', { how: 'is_error' });
    expect(body.result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'exit 1' }],
      structuredContent: { text: 'exit 1' },
      _meta: { 'cortex/exit': 1 },
    });
    expect(await edge.finished({ tool: 'sample_fail', error_code: 'tool_error', outcome: 'failed' })).toBeDefined();
  });
});

it('the record holds who, what and how, and nothing of what was said', async () => {
  const secret = 'a-very-secret-text';
  await edge.call('sample_echo', { text: secret }, { headers: { origin: 'http://localhost:1234' } });
  const finished = await edge.finished({ tool: 'sample_echo', origin: 'http://localhost:1234' });
  expect(finished).toMatchObject({
    service: 'ticket',
    target_app: 'ticket',
    caller_sub: me,
    client_id: 'cli',
    params_hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    args_bytes: JSON.stringify({ text: secret }).length,
    transport: 'http',
    era: 'modern',
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    deadline_ms: 30_000,
    outcome: 'succeeded',
    classes: [],
    scope_used: 'mcp:cortex:read',
    protocol_version: '2026-07-28',
    caller_email_hash: 'anon',
    duration_ms: expect.any(Number),
    result_bytes: expect.any(Number),
    replica: expect.any(String),
    catalog_version: expect.any(Number),
  });
  expect(JSON.stringify(await edge.records())).not.toContain(secret);
  await eventually(async () =>
    expect(
      (await edge.records()).filter((record) => record.call_id === finished.call_id).map(({ type }) => type),
    ).toEqual(['ToolCallStarted', 'ToolCallFinished']),
  );
});

it('T12 of the _meta of a client only the idempotency key is read', async () => {
  const meta = { 'cortex/error': { kind: 'x' }, 'cortex/exit': 9, 'cortex/approval': true };
  const { body } = await edge.call('sample_echo', { text: 'x' }, { meta });
  expect(Object.keys(body.result._meta)).toEqual(['io.modelcontextprotocol/serverInfo']);
  expect(fault(await edge.call('sample_risky', { path: 'x' }, { meta }))).toMatchObject({
    reason: 'approval_unavailable',
  });
});
