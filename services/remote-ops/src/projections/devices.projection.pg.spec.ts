import type { DeviceEvent } from '@cortex/contracts/device';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { devices } from './devices.projection.js';
import { migrations } from './tables.js';

const added: DeviceEvent = { type: 'DeviceAdded', data: { device: 'lab' } };
const enrolled: DeviceEvent = {
  type: 'DeviceEnrolled',
  data: { device: 'lab', public_key: 'A'.repeat(43), key_sha256: 'a'.repeat(64), by: 'join-code' },
};
const connected: DeviceEvent = {
  type: 'DeviceConnected',
  data: { device: 'lab', platform: 'linux', capabilities: [] },
};

it('follows a machine from being added to being revoked', async () => {
  await using t = await projectionFixture(devices, migrations);
  const row = () => t.db.selectFrom('devices').selectAll().executeTakeFirstOrThrow();
  await t.apply(1, added);
  expect(await row()).toMatchObject({
    name: 'lab',
    key_sha256: null,
    platform: null,
    revoked: false,
    last_seen_at: null,
  });
  await t.apply(2, enrolled);
  await t.apply(3, { ...connected, at: '2026-03-01T09:00:00.000Z' });
  expect(await row()).toMatchObject({
    key_sha256: 'a'.repeat(64),
    platform: 'linux',
    last_seen_at: new Date('2026-03-01T09:00:00.000Z'),
  });
  await t.apply(4, { type: 'DeviceKeyRotated', data: { ...enrolled.data, key_sha256: 'b'.repeat(64) } });
  expect(await row()).toMatchObject({ key_sha256: 'b'.repeat(64) });
  await t.apply(5, { type: 'DeviceRevoked', data: { device: 'lab', by: 'per_1' } });
  expect(await row()).toMatchObject({ key_sha256: null, revoked: true });
  await t.apply(6, enrolled);
  expect(await row()).toMatchObject({ key_sha256: 'a'.repeat(64), revoked: false });
});

it('keeps a machine that is added twice as it is', async () => {
  await using t = await projectionFixture(devices, migrations);
  await t.apply(1, added, enrolled);
  await t.apply(2, added);
  expect(await t.db.selectFrom('devices').select('key_sha256').execute()).toEqual([{ key_sha256: 'a'.repeat(64) }]);
});
