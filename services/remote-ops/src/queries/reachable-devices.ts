import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { Machines } from '../adapters/machines.js';

/** Names of the registered machines that the caller may reach, in order, connected or not. */
export const reachableDevices = defineQuery({
  name: 'reachable_devices',
  input: z.object({}),
  handle(_args, ctx) {
    const machines = ctx.get(Machines);
    return { devices: [...machines.all().keys()].filter((name) => machines.for(name, ctx) !== undefined).sort() };
  },
});
