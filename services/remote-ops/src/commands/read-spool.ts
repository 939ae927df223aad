import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { listScript, readPage, SpoolName } from '../spool/spool-scripts.js';
import { runScript } from '../spool/run-script.js';
import { DeviceName } from './names.js';

/**
 * Signal files that lie on a machine, a page of them from behind `after`, by name; content null: too large, or unreadable.
 * Errors: unavailable (device).
 */
export const readSpool = defineCommand({
  name: 'read_spool',
  input: z.object({ device: DeviceName, after: SpoolName.nullable() }),
  handle: async ({ device, after }, ctx) => readPage(await runScript(ctx, device, listScript(after))),
});
