import type { ExecutionEvent } from '@cortex/contracts/execution';
import { eventually, writeEvents, type WrittenSession } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StaleCheck } from './execution/stale-check.js';
import { executionOf, startAudit, type Audit } from './testing/audit.js';

let audit: Audit;
beforeAll(async () => {
  audit = await startAudit();
});
afterAll(async () => {
  await audit[Symbol.asyncDispose]();
});

let count = 0;
const fresh = async (): Promise<WrittenSession> => audit.session(`s${++count}`);
/** As the tool shows it, once the view has it. */
const shown = async (session: WrittenSession, status: string) =>
  eventually(async () => {
    const { execution } = await audit.query({ execution_id: executionOf(session) });
    if (execution?.status !== status) throw new Error(`it is ${execution?.status}`);
    return execution;
  });

describe('an execution', () => {
  it('runs from its start to its end, with what the end tells', async () => {
    const session = await fresh();
    await audit.start(session, { label: 'train arm2' });
    expect(await shown(session, 'running')).toMatchObject({
      kind: 'local',
      project: 'arm',
      backend: 'claude',
      session_id: session.id,
      trigger: 'cli',
      label: 'train arm2',
      ended_at: null,
      error: null,
    });
    const output = '\u{1F600}'.repeat(3000);
    await audit.finish(session, { outcome: 'completed', num_turns: 4, duration_s: 81.234, final_output: output });
    expect(await shown(session, 'completed')).toMatchObject({
      elapsed_ms: 81_234,
      num_turns: 4,
      cost_usd: null,
      final_output: '\u{1F600}'.repeat(500),
      ended_at: expect.any(String),
    });
  });

  it('starts once and ends once, however often and in whichever order it is told', async () => {
    const session = await fresh();
    await Promise.all(Array.from({ length: 5 }, () => audit.start(session)));
    await Promise.all([
      ...Array.from({ length: 5 }, () => audit.finish(session, { outcome: 'failed', error: 'rate limit' })),
      audit.start(session),
    ]);
    await audit.finish(session, { outcome: 'completed' });
    expect(await shown(session, 'failed')).toMatchObject({ error: 'rate limit' });
  });

  it('whose end is told first has both, its start as its session tells it, and the start that follows changes nothing', async () => {
    const session = await audit.session('first', { kind: 'subagent', parent_session_id: 'lead', project: 'leg' });
    await audit.finish(session, { outcome: 'cancelled', by: 'per_1' });
    await audit.start(session, { label: 'late' });
    expect(await shown(session, 'cancelled')).toMatchObject({
      kind: 'subagent',
      project: 'leg',
      owner_session_id: 'lead',
      label: 'cli',
    });
  });

  it('costs what its records of spending add up to, of whichever session', async () => {
    const session = await fresh();
    const execution_id = await audit.start(session);
    await audit.cost(session, `${session.id}-a`, { execution_id, cost_usd: 0.1, num_turns: 2 });
    await audit.cost(session, `${session.id}-b`, { execution_id, cost_usd: 0.2, num_turns: null });
    await audit.cost(session, `${session.id}-c`, { execution_id, cost_usd: null, num_turns: 3 });
    await audit.cost(session, `${session.id}-d`, { execution_id: 'exec_local_0_other', cost_usd: 9 });
    await audit.finish(session, { outcome: 'completed', cost_usd: 7, num_turns: 1 });
    await eventually(async () =>
      expect(await shown(session, 'completed')).toMatchObject({ cost_usd: 0.3, num_turns: 5 }),
    );
  });

  it('without such records costs what its end reported', async () => {
    const session = await fresh();
    await audit.start(session);
    await audit.finish(session, { outcome: 'completed', cost_usd: 0.31, num_turns: 4 });
    expect(await shown(session, 'completed')).toMatchObject({ cost_usd: 0.31, num_turns: 4 });
  });

  it('keeps no secret of its label, error or output', async () => {
    const session = await fresh();
    const secret = `ghp_${'a'.repeat(36)}`;
    await audit.start(session, { label: `with ${secret}` });
    await audit.finish(session, { outcome: 'failed', error: `bad ${secret}`, final_output: `it is ${secret}` });
    const { label, error, final_output } = await shown(session, 'failed');
    expect([label, error, final_output].join()).not.toContain(secret);
  });

  it('shows the tool calls of its session while it ran: counted, and the last ones named', async () => {
    const session = await fresh();
    await audit.toolCall({ call_id: 'before', session_id: session.id, at: '2020-01-01T00:00:00.000Z' }, {});
    await audit.start(session);
    await shown(session, 'running');
    const at = (n: number) => new Date(Date.now() + n).toISOString();
    for (let n = 0; n < 22; n++) {
      const where = n % 2 ? { workspace: 'w1' } : {};
      const outcome = n === 20 ? ('denied' as const) : ('succeeded' as const);
      await audit.toolCall({ call_id: `${session.id}-${n}`, session_id: session.id, at: at(n), ...where }, { outcome });
    }
    await audit.toolCall({ call_id: 'running', session_id: session.id, at: at(60) });
    await audit.toolCall({ call_id: 'elsewhere', session_id: 'another', at: at(61) }, {});
    await eventually(async () => {
      const { calls } = await shown(session, 'running');
      expect([calls.total, calls.failed, calls.recent.length]).toEqual([23, 1, 20]);
      expect(calls.recent[0]).toMatchObject({ call_id: 'running', outcome: 'running', duration_ms: null });
      expect(calls.recent[2]).toMatchObject({ tool: 'remote_bash', outcome: 'denied', duration_ms: 1 });
    });
  });

  it.each([
    ['an id of another kind', { execution_id: 'run_1' }, 'execution_id'],
    ['an unknown kind', { kind: 'magic' }, 'kind'],
    ['no session', { session_id: undefined }, 'session_id'],
    ['P89 an unknown field', { output: 'x' }, 'output'],
  ])('with %s is refused', async (_what, more, field) => {
    const session = await fresh();
    await expect(audit.start(session, more)).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: expect.stringContaining(field),
    });
  });
});

describe('a running execution is marked stale', () => {
  const hour = 3_600_000;
  const check = (ahead = 0) => audit.app.get(StaleCheck).check(new Date(Date.now() + ahead));

  it('when its session ended a while ago or is in no log, and never while its session is open', async () => {
    const [open, ended, orphan] = [await fresh(), await fresh(), { id: 'orphan', workspace: 'w1' }];
    for (const session of [open, ended, orphan]) await audit.start(session);
    await audit.end(ended, new Date().toISOString());
    await eventually(async () => (await audit.query({ status: 'running', limit: 100 })).total! >= 3);
    expect(await check()).toEqual([]);
    const found = await check(hour);
    expect(found).toEqual(expect.arrayContaining([executionOf(ended), executionOf(orphan)]));
    expect(found).not.toContain(executionOf(open));
    await shown(ended, 'stale');
    await shown(orphan, 'stale');
    await shown(open, 'running');
    expect(await check(hour)).toEqual([]);
  });

  it('once, by whichever instance looks, and its late end changes nothing', async () => {
    const session = await fresh();
    await audit.start(session);
    await audit.end(session, new Date().toISOString());
    const found = await eventually(async () => {
      const both = await Promise.all([check(hour), check(hour)]);
      return both.flat().length > 0 && both.flat();
    });
    expect(found).toEqual([executionOf(session)]);
    await audit.finish(session, { outcome: 'completed' });
    await shown(session, 'stale');
  });

  it('at start, for what an earlier instance left running; not what it was told of just now', async () => {
    await using one = await startAudit();
    const at = '2026-01-01T00:00:00.000Z';
    const [left, late] = [await one.session('left', { at }), await one.session('late', { at })];
    const execution_id = executionOf(left);
    const started: ExecutionEvent[] = [{ type: 'ExecutionStarted', data: { ...STARTED, execution_id } }];
    await writeEvents(await one.app.nats.busAs('audit'), 'audit.execution', 'w1', execution_id, started, { at });
    for (const session of [left, late]) await one.end(session, '2026-01-01T00:01:00.000Z');
    await one.start(late);
    const { nats, postgres } = one.app;
    await one.app.stop();
    await using two = await startAudit({ nats, postgres });
    await eventually(async () => {
      expect(await two.query({ status: 'stale' })).toMatchObject({ total: 1, executions: [{ id: execution_id }] });
    });
    expect(await two.query({ status: 'running' })).toMatchObject({ executions: [{ id: executionOf(late) }] });
  });
});

const STARTED = {
  run_id: null,
  kind: 'local' as const,
  project: 'arm',
  backend: null,
  billing_mode: null,
  session_id: 'left',
  owner_session_id: null,
  person_id: 'per_1',
  trigger: 'cli',
  label: 'cli',
  schedule_task_id: null,
  started_at: '2026-01-01T00:00:00.000Z',
};
