import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { GuardRule } from '@cortex/contracts';
import { Cancellation, type SessionClaims } from '../../seams.js';
import { type EdgeFixture, startEdge } from '../../testing/edge-fixture.js';
import { personOf, told, workspaceWith } from '../../testing/gate-log.js';
import { ran } from '../../testing/sample-tools.js';

let edge: EdgeFixture;
let alice: string;
let serial = 0;
/** A workspace of its own for each test: what one is told does not reach the next. */
let w: string;
beforeAll(async () => {
  edge = await startEdge();
  alice = await personOf(edge);
});
beforeEach(() => void (w = `w${++serial}`));
afterAll(async () => edge[Symbol.asyncDispose]());

const fault = (answer: Awaited<ReturnType<EdgeFixture['call']>>) => answer.body.result?._meta?.['cortex/error'];
const create = (args: Record<string, unknown> = {}) =>
  edge.call('sample_ticket', { title: 'x', workspace_id: w, ...args });
const rule = (fields: Partial<GuardRule>): GuardRule => ({
  id: 'r1',
  workspace_id: w,
  scope_type: 'workspace',
  scope_id: w,
  ...(fields.command_prefix === undefined && { action_class: 'vendorSyncWrite' }),
  decision: 'allow',
  enforcement: 'hard',
  origin: 'manual',
  created_by: 'spec',
  ...fields,
});
const setRule = (fields: Partial<GuardRule>) =>
  told(edge, 'team.guardrules', { workspace: w }, { type: 'GuardRuleSet', data: { rule: rule(fields) } });

describe('a workspace', () => {
  it('is open to its members, from the event that lets them in to the one that takes them out', async () => {
    await workspaceWith(edge, w);
    const enter = () => edge.call('sample_workspace', { title: 'x', workspace_id: w });
    expect(fault(await enter())).toMatchObject({ kind: 'permission_denied', reason: 'not_a_member' });
    const member = { principal_id: alice, role: 'member' as const };
    await told(edge, 'team.workspace', { workspace: w }, { type: 'WorkspaceMemberSet', data: member });
    expect((await enter()).body.result.structuredContent).toEqual({ workspace: w });
    await told(edge, 'team.workspace', { workspace: w }, { type: 'WorkspaceMemberRemoved', data: member });
    expect(fault(await enter())).toMatchObject({ reason: 'not_a_member' });
  });
  it('T85 of somebody else gives no other answer than that one does not belong to it', async () => {
    await workspaceWith(edge, w, { members: ['per_somebody'], approval_mode: 'write' });
    expect(fault(await create()).message).toBe(
      'workspace_id is a workspace that you do not belong to; ask an admin of it to add you',
    );
    expect(fault(await edge.call('sample_workspace', { title: 'x', workspace_id: '_' }))).toMatchObject({
      reason: 'workspace_not_found',
    });
  });
});

describe('what the workspace says about a tool that asks', () => {
  it('nothing: it asks, nobody is there, and nothing is written', async () => {
    await workspaceWith(edge, w, { members: [alice] });
    const before = ran('sample_ticket');
    expect(fault(await create())).toMatchObject({ kind: 'failed_precondition', reason: 'approval_unavailable' });
    expect(ran('sample_ticket')).toBe(before);
    expect(await edge.finished({ workspace: w, outcome: 'denied' })).toMatchObject({
      gate: 'guard_rail',
      source: 'built-in',
    });
  });
  it('a rule allows its class: the approval gate still asks, unless the approval mode lets it pass', async () => {
    await workspaceWith(edge, w, { members: [alice], rules: [rule({})] });
    expect(fault(await create())).toMatchObject({ reason: 'approval_unavailable' });
    await told(edge, 'team.guardrules', { workspace: w }, { type: 'ApprovalModeSet', data: { mode: 'write' } });
    expect((await create()).body.result.structuredContent).toEqual({ workspace: w, via: 'mode' });
    expect(await edge.finished({ workspace: w, outcome: 'succeeded' })).toMatchObject({
      decision: 'allow',
      source: 'rule:r1',
    });
    await told(edge, 'team.guardrules', { workspace: w }, { type: 'GuardRuleRemoved', data: { rule_id: 'r1' } });
    expect(fault(await create())).toMatchObject({ reason: 'approval_unavailable' });
  });
  it('the approval mode alone does not lift what the guard rail asks', async () => {
    await workspaceWith(edge, w, { members: [alice], approval_mode: 'yolo' });
    expect(fault(await create())).toMatchObject({ reason: 'approval_unavailable' });
  });
  it('a deny of the workspace counts, one of a space goes before it, and one that has lapsed counts for nothing', async () => {
    await workspaceWith(edge, w, { members: [alice], approval_mode: 'write', rules: [rule({ decision: 'deny' })] });
    expect(fault(await create())).toMatchObject({ reason: 'denied_by_policy' });
    await setRule({ id: 'r2', scope_type: 'space', scope_id: 's1' });
    expect((await create({ space_id: 's1' })).body.result.structuredContent).toMatchObject({ space_id: 's1' });
    expect(fault(await create({ space_id: 's2' }))).toMatchObject({ reason: 'denied_by_policy' });
    await setRule({ id: 'r2', scope_type: 'space', scope_id: 's1', expires_at: '2026-01-01T00:00:00Z' });
    expect(fault(await create({ space_id: 's1' }))).toMatchObject({ reason: 'denied_by_policy' });
  });
  it('rules and modes of another workspace are none of its business', async () => {
    await workspaceWith(edge, 'elsewhere', { members: [alice], approval_mode: 'yolo', rules: [rule({})] });
    await workspaceWith(edge, w, { members: [alice] });
    expect(fault(await create())).toMatchObject({ reason: 'approval_unavailable' });
  });
});

describe('the mode of a space', () => {
  it('counts from the next call on, and leaves other spaces alone', async () => {
    await workspaceWith(edge, w, {
      members: [alice],
      approval_mode: 'write',
      rules: [rule({})],
      spaces: { s1: 'plan' },
    });
    expect(fault(await create({ space_id: 's1' }))).toMatchObject({ reason: 'refused_by_mode' });
    expect((await create({ space_id: 's2' })).body.result.isError).toBeUndefined();
    const data = { space_id: 's1', from: 'plan' as const, to: 'chat' as const, cause: 'spec' };
    await told(edge, 'team.space', { workspace: w, id: 's1' }, { type: 'SpaceModeChanged', data });
    expect((await create({ space_id: 's1' })).body.result.isError).toBeUndefined();
  });
});

describe('an agent session', () => {
  /** As the session service's token makes it; how such a token is verified is told elsewhere. */
  function asAgent(claims: Partial<SessionClaims>, person_id: string | null = alice) {
    const session: SessionClaims = { sid: 'ses_1', kind: 'direct', groups: new Set(['cortex-core']), ...claims };
    const scopes = new Set(['mcp:cortex:read', 'mcp:cortex:write']);
    const principal = { type: 'agent' as const, id: session.agent_id ?? session.sid, roles: [] };
    const scope = { session_id: session.sid };
    return async (args: Record<string, unknown> = {}, name = 'sample_ticket') => {
      const outcome = await edge.edge.pipeline.runCall({
        caller: {
          caller_key: session.sid,
          caller_hash: 'a'.repeat(64),
          kind: 'agent',
          issuer: `${edge.origin}/session`,
          sub: 'alice',
          person_id,
          client_id: 'session',
          scopes,
          scopes_key: [...scopes].sort().join(' '),
          email: '',
          name: '',
          pool: '',
          role: '',
          audience: edge.url,
          jti: null,
          exp: Infinity,
          dev_bypass: false,
          session,
          principal,
          principal_json: JSON.stringify(principal),
          scope,
          scope_json: JSON.stringify(scope),
        },
        name,
        args: name === 'sample_ticket' ? { title: 'x', ...args } : args,
        era: 'modern',
        revision: '2026-07-28',
        transport: 'bus',
        meta: {},
        cancel: new Cancellation(),
      });
      if (outcome.kind === 'error') throw new Error(outcome.message);
      const members = JSON.parse(`{${outcome.members.toString()}}`);
      return outcome.is_error ? outcome.meta?.['cortex/error'] : members.structuredContent;
    };
  }

  /** Of the agent `coder`. */
  const dial = (space_id: string | null, level: 'proposeOnly' | 'actFreely') =>
    told(
      edge,
      'team.guardrules',
      { workspace: w },
      { type: 'AutonomySet', data: { agent_id: 'coder', space_id, level } },
    );
  /** A run of the agent begins there. */
  async function inSpace(space_id: string, agent_id: string): Promise<{ workspace: string; id: string }> {
    const where = { workspace: w, id: `${w}-run` };
    const data = {
      run_id: where.id,
      agent_id,
      space_id,
      conversation_id: null,
      ticket_id: null,
      mode: null,
      prompt: '',
      cost_cap_cents: null,
      in_reply_to_agent_id: null,
    };
    await told(edge, 'session.run', where, { type: 'RunStarted', data });
    return where;
  }

  it('T85 acts in the workspace of its token, whatever workspace it names', async () => {
    await workspaceWith(edge, w, { members: [alice], approval_mode: 'write', rules: [rule({})] });
    await workspaceWith(edge, `${w}-other`, { members: [alice], approval_mode: 'yolo' });
    const call = asAgent({ workspace: w });
    expect(await call({ workspace_id: `${w}-other` })).toMatchObject({ workspace: w });
    expect(await call({})).toMatchObject({ workspace: w });
  });
  it('without a workspace has no tools of one', async () => {
    await workspaceWith(edge, w, { members: [alice] });
    const call = asAgent({});
    expect(await call({ workspace_id: w })).toMatchObject({ reason: 'refused_by_composition' });
  });
  it('goes no further than the person behind it', async () => {
    await workspaceWith(edge, w, { members: ['per_somebody'] });
    expect(await asAgent({ workspace: w })()).toMatchObject({ reason: 'not_a_member' });
    // Nobody stands behind what the server itself dispatched.
    expect(await asAgent({ workspace: w, kind: 'run' }, null)()).toMatchObject({
      reason: 'approval_unavailable',
    });
  });
  it('is in the mode of its space, then of its run, then of its token', async () => {
    await workspaceWith(edge, w, {
      members: [alice],
      approval_mode: 'write',
      rules: [rule({})],
      spaces: { s1: 'plan' },
    });
    const refused = { reason: 'refused_by_mode' };
    expect(await asAgent({ workspace: w, mode: 'plan' })()).toMatchObject(refused);
    expect(await asAgent({ workspace: w, space_id: 's1', mode: 'chat' })({ space_id: 's2' })).toMatchObject(refused);
    const where = await inSpace('s1', 'coder');
    const coder = asAgent({ workspace: w, agent_id: 'coder', mode: 'chat' });
    expect(await coder()).toMatchObject(refused);
    await told(edge, 'session.run', where, { type: 'RunFailed', data: { run_id: where.id, reason: 'spec' } });
    expect(await coder()).toMatchObject({ workspace: w });
  });
  it('that names a space gets nothing of it: no looser mode, no rule, no dial', async () => {
    await workspaceWith(edge, w, {
      members: [alice],
      approval_mode: 'write',
      rules: [rule({ decision: 'deny' }), rule({ id: 'r2', scope_type: 'space', scope_id: 's1' })],
      spaces: { s1: 'chat' },
    });
    expect(await asAgent({ workspace: w, mode: 'plan' })({ space_id: 's1' })).toMatchObject({
      reason: 'refused_by_mode',
    });
    expect(await asAgent({ workspace: w })({ space_id: 's1' })).toMatchObject({ reason: 'denied_by_policy' });
    expect(await asAgent({ workspace: w, space_id: 's1' })({})).toMatchObject({ workspace: w });
    await setRule({ decision: 'prompt' });
    await dial('s2', 'actFreely');
    const coder = asAgent({ workspace: w, agent_id: 'coder' });
    expect(await coder({ space_id: 's2' })).toMatchObject({ reason: 'approval_unavailable' });
  });
  it('whose token names no space is held by the dial of the one that its run is in', async () => {
    await workspaceWith(edge, w, { members: [alice] });
    await dial(null, 'actFreely');
    await dial('s1', 'proposeOnly');
    const coder = asAgent({ workspace: w, agent_id: 'coder' });
    expect(await coder()).toMatchObject({ workspace: w, via: 'dial' });
    await inSpace('s1', 'coder');
    expect(await coder()).toMatchObject({ reason: 'denied_by_policy' });
  });
  it('T85 whose person is out of the workspace does nothing there, named or not', async () => {
    await workspaceWith(edge, w, { members: ['per_somebody'] });
    expect(await asAgent({ workspace: w })({ text: 'x' }, 'sample_echo')).toMatchObject({ reason: 'not_a_member' });
    expect(await asAgent({ workspace: w })({}, 'whoami')).toMatchObject({ session: expect.anything() });
  });
  it('an agent that is named in the arguments lends nobody its dial', async () => {
    await workspaceWith(edge, w, { members: [alice] });
    await dial(null, 'actFreely');
    expect(await asAgent({ workspace: w })({ agent_id: 'coder' })).toMatchObject({ reason: 'approval_unavailable' });
    expect(fault(await create({ agent_id: 'coder' }))).toMatchObject({ reason: 'approval_unavailable' });
  });
  it('is held by the dial of its agent, in the space before the workspace', async () => {
    await workspaceWith(edge, w, { members: [alice] });
    await dial(null, 'actFreely');
    await dial('s1', 'proposeOnly');
    const call = (space_id: string) => asAgent({ workspace: w, agent_id: 'coder', space_id });
    expect(await call('s2')()).toMatchObject({ workspace: w, via: 'dial' });
    expect(await call('s1')()).toMatchObject({ reason: 'denied_by_policy' });
  });
});
