import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';

export const config = z.object({
  /** Data root: the signal spool and the `cortex-signal` that lines to paste name. */
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
  /** Port of the signal route, as lines to paste name it. */
  WEBHOOK_PORT: z.coerce.number().int().min(0).max(65_535).default(3001),
  /** Life of a waitpoint that names none, at most 30 days. */
  CORTEX_WAITPOINT_TTL_MS: z.coerce.number().int().min(1_000).max(2_592_000_000).default(604_800_000),
  /** Pause between two sweeps; 0: only the one at the start. */
  CORTEX_WAITPOINT_SWEEP_MS: z.coerce.number().int().min(0).max(86_400_000).default(30_000),
  /** Wakes of one waitpoint within an hour; what comes after them is recorded and wakes nobody. */
  CORTEX_WAITPOINT_MAX_WAKES_PER_HOUR: z.coerce.number().int().min(1).max(1_000).default(12),
});
export type Config = z.output<typeof config>;
