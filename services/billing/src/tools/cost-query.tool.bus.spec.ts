import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import { eventually, writeEvents, type WrittenSession } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dayOf, monthOf } from '../calendar.js';
import { agent, OPERATOR, person, startBilling, type Billing } from '../testing/billing.js';

describe('whose spending shows', () => {
  let billing: Billing;
  const sessions: Record<string, WrittenSession> = {};

  /** Amounts are powers of two, so that a sum says which records are in it. */
  const SPENT: Record<string, number> = {
    root: 1,
    child: 2,
    grandchild: 4,
    mate: 8,
    other: 16,
    alone: 32,
    lone: 64,
    far: 128,
  };

  beforeAll(async () => {
    billing = await startBilling();
    await billing.member('w1', 'per_member');
    await billing.member('w2', 'per_2');
    const tree = { person_id: 'per_1', project: 'arm', kind: 'subagent' as const };
    sessions['root'] = await billing.session('root', { person_id: 'per_1', project: 'arm' });
    sessions['child'] = await billing.session('child', { ...tree, project: 'sub', parent_session_id: 'root' });
    sessions['grandchild'] = await billing.session('grandchild', {
      ...tree,
      project: 'sub',
      parent_session_id: 'child',
    });
    sessions['mate'] = await billing.session('mate', { person_id: 'per_2', project: 'arm' });
    sessions['other'] = await billing.session('other', { person_id: 'per_2', project: 'leg' });
    sessions['alone'] = await billing.session('alone', { person_id: 'per_1', project: 'arm', workspace: null });
    sessions['lone'] = await billing.session('lone', { person_id: 'per_2', project: 'arm', workspace: null });
    sessions['far'] = await billing.session('far', { person_id: 'per_2', project: 'arm', workspace: 'w2' });
    for (const [name, cost_usd] of Object.entries(SPENT)) await billing.use(sessions[name]!, { key: 'k', cost_usd });
  });
  afterAll(async () => {
    await billing[Symbol.asyncDispose]();
  });

  const of = (...names: string[]) => names.reduce((sum, name) => sum + SPENT[name]!, 0);
  const seen = async (how: Parameters<Billing['query']>[1], projectId?: string) =>
    (await billing.query(projectId === undefined ? {} : { projectId }, how)).today.total;

  it('T86 to a person: of own sessions, and of every session in the workspaces that the person belongs to', async () => {
    expect(await seen(person('per_1'))).toBe(of('root', 'child', 'grandchild', 'alone'));
    expect(await seen(person('per_2'))).toBe(of('mate', 'other', 'lone', 'far'));
    expect(await seen(person('per_member'))).toBe(of('root', 'child', 'grandchild', 'mate', 'other'));
    expect(await seen(person('per_stranger'))).toBe(0);
  });

  it('T86 to an agent: of its session, of all that it started, and of its project in its workspace', async () => {
    expect(await seen(agent(sessions['root']!))).toBe(of('root', 'child', 'grandchild', 'mate'));
    expect(await seen(agent(sessions['child']!))).toBe(of('child', 'grandchild'));
    expect(await seen(agent(sessions['grandchild']!))).toBe(of('child', 'grandchild'));
    expect(await seen(agent(sessions['other']!))).toBe(of('other'));
    expect(await seen(agent(sessions['far']!))).toBe(of('far'));
  });

  it('T86 to an agent without a workspace: of its project as far as the same person spent it there', async () => {
    expect(await seen(agent(sessions['alone']!))).toBe(of('alone'));
    expect(await seen(agent(sessions['lone']!))).toBe(of('lone'));
  });

  it('T86 to an operator: of all; an agent that says it is one in its own words is none', async () => {
    expect(await seen(OPERATOR)).toBe(255);
    const claims = { ...agent(sessions['other']!), principal: { type: 'agent' as const, id: 'operator' } };
    expect(await seen(claims)).toBe(of('other'));
  });

  it('T86 to nobody else: a device, a system without a session', async () => {
    expect(await seen({ principal: { type: 'device', id: 'per_1' }, workspace: null })).toBe(0);
    expect(await seen({ principal: { type: 'system', id: 'system' }, workspace: null })).toBe(0);
  });

  it('T86 to a person who left a workspace: of it no more than own sessions', async () => {
    await billing.member('w1', 'per_2');
    await eventually(async () => expect(await seen(person('per_2'))).toBe(255 - of('alone')));
    const left: WorkspaceEvent[] = [{ type: 'WorkspaceMemberRemoved', data: { principal_id: 'per_2' } }];
    await writeEvents(await billing.app.nats.busAs('team'), 'team.workspace', 'w1', 'all', left);
    await eventually(async () => expect(await seen(person('per_2'))).toBe(of('mate', 'other', 'lone', 'far')));
  });

  it('of one project, as far as the caller may see it', async () => {
    expect(await seen(OPERATOR, 'arm')).toBe(of('root', 'mate', 'alone', 'lone', 'far'));
    expect(await seen(person('per_1'), 'arm')).toBe(of('root', 'alone'));
    expect(await seen(agent(sessions['root']!), 'sub')).toBe(of('child', 'grandchild'));
  });

  it('P63 two callers who ask one after the other each get their own sums', async () => {
    const rounds = Array.from({ length: 6 }, async () =>
      Promise.all([seen(person('per_1')), seen(person('per_2')), seen(person('per_stranger'))]),
    );
    for (const round of await Promise.all(rounds)) {
      expect(round).toEqual([of('root', 'child', 'grandchild', 'alone'), of('mate', 'other', 'lone', 'far'), 0]);
    }
  });

  it('to an agent whose session the log does not have: nothing, it is asked to come again', async () => {
    const answer = billing.query({}, agent({ id: 'unknown', workspace: 'w1' }));
    await expect(answer).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('a project without records gives zeros, no error', async () => {
    expect(await billing.query({ projectId: "none'; drop table cost_entries; --" })).toMatchObject({
      project_id: "none'; drop table cost_entries; --",
      budget_scope: 'global',
      today: { total: 0, api: 0, plan: 0, budget: 300, remaining: 300, percent: 0 },
      by_source: { estimate: { today: 0, month: 0 }, gateway: { today: 0, month: 0 } },
      tokens: { today: { input: 0, output: 0 }, month: { input: 0, output: 0 } },
      entry_count: 0,
    });
  });

  it.each([[''], ['   ']])('an empty project (%j) is refused', async (projectId) => {
    await expect(billing.query({ projectId })).rejects.toMatchObject({
      kind: 'invalid_argument',
      message: 'projectId must not be empty; leave it out for all projects',
    });
  });
});

describe.each(['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kathmandu', 'UTC'])('with the clocks of %s', (TZ) => {
  it('a record belongs to the day and month that its moment has there', async () => {
    await using billing = await startBilling({ env: { TZ } });
    const session = await billing.session('s1');
    const now = new Date();
    const [day, month] = [dayOf(now, TZ), monthOf(now, TZ)];
    const record = (at: number, cost_usd: number) =>
      billing.app.ask(
        'cmd',
        'record_cost',
        {
          session_id: session.id,
          key: `at ${at}`,
          timestamp: new Date(at).toISOString(),
          cost_usd,
          input_tokens: 0,
          output_tokens: 0,
        },
        { from: 'session', principal: { type: 'system', id: 'turns_v1' } },
      );
    await record(day.from.getTime(), 1);
    await record(day.from.getTime() - 1, 2);
    await record(month.from.getTime(), 4);
    await record(month.from.getTime() - 1, 8);
    const { today, month: inMonth } = await billing.query();
    const isFirst = day.from.getTime() === month.from.getTime();
    // On the first of a month the two borders are one.
    expect([today.date, today.total]).toEqual([day.starts, 1]);
    expect([inMonth.month, inMonth.total]).toEqual([month.starts, isFirst ? 1 : 7]);
  });
});

it('shows the zone of the machine when TZ names none', async () => {
  await using billing = await startBilling({ env: { TZ: ':/no/such' } });
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  expect((await billing.query()).today.date).toBe(dayOf(new Date(), zone).starts);
});
