import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { retentionDays } from '@cortex/contracts/retention';
import { z } from 'zod';

export const config = z.object({
  /** Data root: `data/executions.json` of an older installation. */
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
  /** Days that the audit trail is kept; what is no number of days means a year. */
  CORTEX_AUDIT_RETENTION_DAYS: z.string().optional().transform(retentionDays),
  /** PKCS8 PEM of an Ed25519 key: signs the anchors of the trail. */
  CORTEX_AUDIT_ANCHOR_KEY: z.string().min(1).optional(),
});
export type Config = z.output<typeof config>;
