import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { migrations } from './tables.js';
import { waitpoints } from './waitpoints.projection.js';

const id = 'wp_1a2b3c4d5e6f';
const created: WaitpointEvent = {
  type: 'WaitpointCreated',
  data: {
    waitpoint_id: id,
    session_id: 's1',
    channel: 'web:s1',
    project: 'arm',
    label: 'train',
    intent: 'compare',
    members: [],
    need: 1,
    fail_fast: true,
    max_signals: 1,
    coalesce_ms: 0,
    emit_from: { kind: 'local' },
    expires_at: '2026-03-08T09:00:00.000Z',
    secret_sha256: 'a'.repeat(64),
  },
};
const cancelled: WaitpointEvent = { type: 'WaitpointCancelled', data: { waitpoint_id: id, by: 's1' } };
const purged: WaitpointEvent = { type: 'WaitpointPurged', data: { waitpoint_id: id } };
const of = (event: WaitpointEvent, workspace = 'w1') => ({ ...event, id, workspace, at: '2026-03-01T09:00:00.000Z' });

it('what happens in another workspace under the same id changes nothing of a waitpoint, nor when it is due', async () => {
  await using t = await projectionFixture(waitpoints, migrations);
  const mine = async () => ({
    shown: await t.db.selectFrom('waitpoints').selectAll().where('workspace_id', '=', 'w1').execute(),
    agenda: await t.db.selectFrom('agenda').selectAll().execute(),
  });
  await t.apply(1, of(created));
  const before = await mine();
  expect(before).toMatchObject({ shown: [{ state: 'armed' }], agenda: [{ workspace: 'w1', state: 'armed' }] });
  await t.apply(2, of({ ...created, data: { ...created.data, expires_at: '2026-03-02T09:00:00.000Z' } }, 'w2'));
  await t.apply(3, of(cancelled, 'w2'));
  await t.apply(4, of(purged, 'w2'));
  expect(await mine()).toEqual(before);
  await t.apply(5, of(cancelled));
  await t.apply(6, of(purged));
  expect(await mine()).toEqual({ shown: [], agenda: [] });
});
