import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { DeviceHub } from '../adapters/device-hub.js';
import { Machines } from '../adapters/machines.js';
import { devices as devicesView } from '../projections/devices.projection.js';

/** Every machine of machines.json and every one that was added, in name order; for who asks so those that the caller may reach. */
export const devices = defineQuery({
  name: 'devices',
  input: z.object({ reachable: z.boolean().default(false).describe('Only those that the caller may reach') }),
  async handle({ reachable }, ctx) {
    const hub = ctx.get(DeviceHub);
    const machines = ctx.get(Machines);
    const rows = await (await ctx.read(devicesView)).selectFrom('devices').selectAll().execute();
    const known = new Map(rows.map((row) => [row.name, row]));
    const names = [...new Set([...machines.all().keys(), ...known.keys()])]
      .filter((name) => !reachable || machines.for(name, ctx) !== undefined)
      .sort();
    return {
      devices: names.map((name) => {
        const row = known.get(name);
        return {
          name,
          registered: machines.get(name) !== undefined,
          enrolled: Boolean(row?.key_sha256),
          revoked: row?.revoked ?? false,
          online: hub.isOnline(name),
          platform: hub.platformOf(name) ?? row?.platform ?? null,
          last_seen_at: row?.last_seen_at?.toISOString() ?? null,
          key_sha256: row?.key_sha256 ?? null,
        };
      }),
    };
  },
});
