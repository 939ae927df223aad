import type { DeviceEvent } from '@cortex/contracts/device';
import { defineProjection } from '@cortex/eventstore';
import type { RemoteOpsDb } from './tables.js';

/** Every machine that was added: its key, platform and when it was last there. */
export const devices = defineProjection<DeviceEvent, RemoteOpsDb>({
  name: 'devices_v1',
  subject: 'cortex.evt.remote-ops.*.device.*',
  tables: ['devices'],
  on: {
    DeviceAdded: ({ data, at }, tx) =>
      tx
        .insertInto('devices')
        .values({
          name: data.device,
          key_sha256: null,
          platform: null,
          revoked: false,
          added_at: at,
          last_seen_at: null,
        })
        .onConflict((oc) => oc.column('name').doNothing())
        .execute(),
    DeviceEnrolled: ({ data }, tx) =>
      tx
        .updateTable('devices')
        .where('name', '=', data.device)
        .set({ key_sha256: data.key_sha256, revoked: false })
        .execute(),
    DeviceKeyRotated: ({ data }, tx) =>
      tx.updateTable('devices').where('name', '=', data.device).set({ key_sha256: data.key_sha256 }).execute(),
    DeviceRevoked: ({ data }, tx) =>
      tx.updateTable('devices').where('name', '=', data.device).set({ key_sha256: null, revoked: true }).execute(),
    DeviceConnected: ({ data, at }, tx) =>
      tx
        .updateTable('devices')
        .where('name', '=', data.device)
        .set({ platform: data.platform, last_seen_at: at })
        .execute(),
    DeviceDisconnected: ({ data, at }, tx) =>
      tx.updateTable('devices').where('name', '=', data.device).set({ last_seen_at: at }).execute(),
  },
});
