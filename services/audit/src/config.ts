import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';

export const config = z.object({
  /** Data root: `data/executions.json` of an older installation. */
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
});
export type Config = z.output<typeof config>;
