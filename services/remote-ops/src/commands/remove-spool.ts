import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { removeScript, SpoolName } from '../spool/spool-scripts.js';
import { runScript } from '../spool/run-script.js';
import { DeviceName } from './names.js';

/** Removes signal files from a machine once they were taken in; one that is not there is fine. Errors: unavailable (device). */
export const removeSpool = defineCommand({
  name: 'remove_spool',
  input: z.object({ device: DeviceName, names: z.array(SpoolName).min(1).max(500) }),
  async handle({ device, names }, ctx) {
    await runScript(ctx, device, removeScript(names));
    return { removed: names.length };
  },
});
