import type { SessionEvent } from '@cortex/contracts/session';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { openedStart } from '../session/start.js';
import { sessions } from './sessions.projection.js';
import { migrations } from './tables.js';

const start = openedStart({
  session_id: 's1',
  workspace: 'w1',
  project: 'arm',
  channel: 'web:s1',
  person_id: 'per_1',
  held: new Set(['mcp:cortex:read']),
  execution_id: 'exec_local_a_b',
  trigger: 'cli',
});
const started: SessionEvent = { type: 'SessionStarted', data: start };
const ended: SessionEvent = { type: 'SessionEnded', data: { reason: 'closed' } };
const message = (message_id: string, text: string): SessionEvent => ({
  type: 'MessageDelivered',
  data: { message_id, origin: 'user', delivery: 'held', text, tag: null },
});
const at = (time: string) => `2026-03-01T09:00:${time}.000Z`;
const of = (id: string, event: SessionEvent, time = '00', workspace = 'w1') => ({
  ...event,
  id,
  workspace,
  at: at(time),
});

it('follows a session from its start to its end, and keeps where it is', async () => {
  await using t = await projectionFixture(sessions, migrations);
  await t.apply(1, of('s1', started));
  expect(await t.db.selectFrom('sessions').selectAll().executeTakeFirstOrThrow()).toMatchObject({
    workspace_id: 'w1',
    session_id: 's1',
    project: 'arm',
    groups: start.groups,
    scopes: ['mcp:cortex:read'],
    ended_at: null,
  });
  await t.apply(2, of('s1', ended, '30'));
  const row = await t.db.selectFrom('sessions').select(['ended_at', 'end_reason']).executeTakeFirstOrThrow();
  expect(row).toEqual({ ended_at: new Date(at('30')), end_reason: 'closed' });
  expect(await t.db.selectFrom('session_ids').selectAll().execute()).toEqual([
    { session_id: 's1', workspace: 'w1', started_at: new Date(at('00')), ended_at: new Date(at('30')) },
  ]);
});

it('shows a message once, whether its commit comes again or it was recorded again', async () => {
  await using t = await projectionFixture(sessions, migrations);
  await t.apply(1, of('s1', started));
  await t.apply(2, of('s1', message('m1', 'first')));
  await t.apply(2, of('s1', message('m1', 'first')));
  await t.apply(3, of('s1', message('m1', 'again')));
  await t.apply(4, of('s1', message('m2', 'second')));
  const rows = await t.db.selectFrom('messages').select(['message_id', 'text']).orderBy('seq').execute();
  expect(rows).toEqual([
    { message_id: 'm1', text: 'first' },
    { message_id: 'm2', text: 'second' },
  ]);
});

it('keeps the sessions of two workspaces and of none apart', async () => {
  await using t = await projectionFixture(sessions, migrations);
  await t.apply(1, of('s1', started));
  await t.apply(2, of('s2', started, '01', 'w2'));
  await t.apply(3, of('s3', started, '02', '_'));
  const rows = await t.db.selectFrom('session_ids').select(['session_id', 'workspace']).orderBy('session_id').execute();
  expect(rows.map(({ session_id, workspace }) => `${session_id} ${workspace}`)).toEqual(['s1 w1', 's2 w2', 's3 _']);
  await t.apply(4, of('s1', ended, '03', 'w2'));
  for (const table of ['sessions', 'session_ids'] as const) {
    const open = await t.db.selectFrom(table).select('session_id').where('ended_at', 'is', null).execute();
    expect([table, open.length]).toEqual([table, 3]);
  }
});
