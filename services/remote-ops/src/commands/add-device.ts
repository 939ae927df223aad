import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { Machines, startedByHand } from '../adapters/machines.js';
import { device, deviceId } from '../device/device.decider.js';
import { DeviceName } from './names.js';

/** Registers a machine whose client somebody starts by hand. One that is registered already stays as it is. */
export const addDevice = defineCommand({
  name: 'add_device',
  input: z.object({
    name: DeviceName,
    cortex_path: z.string().min(1).optional().describe("Where searches without a path begin; default: the user's home"),
  }),
  async handle({ name, cortex_path }, ctx) {
    const created = ctx.get(Machines).add(name, startedByHand(cortex_path));
    await ctx.execute(device, deviceId(name), { type: 'AddDevice', device: name }, { workspace: null });
    return { name, created };
  },
});
