import { eventually, type CallOptions, type SessionData, type WrittenSession } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executionOf, OPERATOR, startAudit, type Audit } from '../testing/audit.js';

const person = (id: string): CallOptions => ({ principal: { id }, workspace: null });
const agent = ({ id, workspace }: WrittenSession): CallOptions => ({
  principal: { type: 'agent', id },
  scope: { session_id: id },
  workspace,
});

let audit: Audit;
const sessions: Record<string, WrittenSession> = {};
beforeAll(async () => {
  audit = await startAudit();
  await audit.member('w1', 'per_member');
  const mine = { person_id: 'per_1', project: 'arm' };
  const theirs = { person_id: 'per_2', project: 'arm' };
  const started: [id: string, data: SessionData][] = [
    ['root', mine],
    ['child', { ...mine, project: 'sub', kind: 'subagent', parent_session_id: 'root' }],
    ['mate', theirs],
    ['other', { ...theirs, project: 'leg' }],
    ['alone', { ...mine, workspace: null }],
    ['far', { ...theirs, workspace: 'w2' }],
  ];
  for (const [n, [id, data]] of started.entries()) {
    sessions[id] = await audit.session(id, { ...data, at: new Date(Date.now() - 60_000 + n).toISOString() });
  }
  for (const session of Object.values(sessions)) await audit.start(session);
  await audit.finish(sessions['mate']!, { outcome: 'failed', error: 'rate limit' });
  await audit.finish(sessions['far']!, { outcome: 'completed' });
  await eventually(async () => {
    expect((await audit.query({ status: 'running' })).total).toBe(4);
    expect((await audit.query({ status: 'all' })).total).toBe(6);
  });
});
afterAll(async () => {
  await audit[Symbol.asyncDispose]();
});

const idsOf = async (args: Parameters<Audit['query']>[0], how: CallOptions = OPERATOR) =>
  ((await audit.query(args, how)).executions ?? []).map(({ session_id }) => session_id);
const seen = async (how: CallOptions) => (await idsOf({ status: 'all' }, how)).toSorted();

describe('query_executions', () => {
  it('lists those that run, newest start first, unless another status is asked for', async () => {
    expect(await idsOf({})).toEqual(['alone', 'other', 'child', 'root']);
    expect(await idsOf({ status: 'failed' })).toEqual(['mate']);
    expect(await idsOf({ status: 'all', project: 'arm' })).toEqual(['far', 'alone', 'mate', 'root']);
    expect(await idsOf({ status: 'stale' })).toEqual([]);
  });

  it('says how many fit, and whether there are more than it shows; limit clamps', async () => {
    expect(await audit.query({ status: 'all', limit: 2 })).toMatchObject({ total: 6, truncated: true });
    expect(await idsOf({ status: 'all', limit: 2 })).toEqual(['far', 'alone']);
    expect(await idsOf({ status: 'all', limit: 0 })).toEqual(['far']);
    expect(await audit.query({ status: 'all', limit: 1e9 })).toMatchObject({ total: 6, truncated: false });
    expect(await audit.query({ status: 'cancelled' })).toEqual({ executions: [], total: 0, truncated: false });
  });

  it('T86 shows a person own sessions and own workspaces, an agent its tree and project, an operator all', async () => {
    expect(await seen(person('per_1'))).toEqual(['alone', 'child', 'root']);
    expect(await seen(person('per_2'))).toEqual(['far', 'mate', 'other']);
    expect(await seen(person('per_member'))).toEqual(['child', 'mate', 'other', 'root']);
    expect(await seen(person('per_stranger'))).toEqual([]);
    expect(await seen(agent(sessions['root']!))).toEqual(['child', 'mate', 'root']);
    expect(await seen(agent(sessions['child']!))).toEqual(['child']);
    expect(await seen(agent(sessions['alone']!))).toEqual(['alone']);
    expect(await seen(OPERATOR)).toHaveLength(6);
    expect(await audit.query({ status: 'all' }, person('per_1'))).toMatchObject({ total: 3, truncated: false });
  });

  it('T86 an execution of anybody else is not found, like one that never was', async () => {
    const id = executionOf(sessions['mate']!);
    for (const [how, execution_id] of [
      [person('per_1'), id],
      [agent(sessions['other']!), id],
      [agent(sessions['child']!), executionOf(sessions['root']!)],
      [OPERATOR, 'exec_local_0_never'],
    ] as const) {
      await expect(audit.query({ execution_id }, how)).rejects.toMatchObject({
        kind: 'not_found',
        message: 'execution_id names no execution; list them with status all',
      });
    }
    expect(await audit.query({ execution_id: id }, person('per_2'))).toMatchObject({ execution: { id } });
  });

  it('ignores the other filters with an id', async () => {
    const execution_id = executionOf(sessions['mate']!);
    const { execution, executions } = await audit.query({ execution_id, status: 'running', project: 'none' });
    expect([execution?.error, executions]).toEqual(['rate limit', undefined]);
  });

  it('lists no execution that ended more than 7 days ago, and finds it by its id', async () => {
    const old = await audit.session('old');
    const execution_id = await audit.start(old);
    await audit.finish(old, { outcome: 'completed' });
    await eventually(async () => (await idsOf({ status: 'completed' })).includes('old'));
    await audit.app.postgres
      .pool()
      .query(`update audit.executions set ended_at = now() - interval '8 days' where id = $1`, [execution_id]);
    expect(await idsOf({ status: 'completed' })).toEqual(['far']);
    expect(await audit.query({ execution_id })).toMatchObject({ execution: { status: 'completed' } });
  });

  it.each([
    ['an unknown status, naming the known ones', { status: 'done' }, /^status .*"running".*"all"/],
    ['P89 a field that is nearly right', { projectId: 'arm' }, /^projectId .*project\?/],
    ['a project that is no text', { project: 7 }, /^project must be a text/],
  ])('refuses %s', async (_what, args, message) => {
    await expect(audit.query(args as never)).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringMatching(message),
    });
  });
});
