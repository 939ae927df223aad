import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { DeviceHub } from '../adapters/device-hub.js';
import { device, deviceId } from '../device/device.decider.js';
import { DeviceName } from './names.js';

/** Forgets a machine's key and open join code, and closes its connection. It comes back by a new join code only. */
export const revokeDevice = defineCommand({
  name: 'revoke_device',
  input: z.object({ name: DeviceName }),
  async handle({ name }, ctx) {
    const command = { type: 'RevokeDevice' as const, device: name, by: ctx.caller.id };
    await ctx.execute(device, deviceId(name), command, { workspace: null });
    ctx.get(DeviceHub).tellRevoked(name);
    return { name };
  },
});
