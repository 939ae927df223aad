import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';

export const config = z.object({
  /** Data root: `config/machines.json`, spill files. */
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
  /** Devices dial in here; 0 takes a free port. */
  CORTEX_CLIENT_PORT: z.coerce.number().int().min(0).max(65_535).default(3002),
  /** Loopback, or all interfaces once machines.json names a machine that is elsewhere. */
  CORTEX_CLIENT_HOST: z.string().min(1).optional(),
  /** Opens the device port; the home's secrets have one too. Without either every device is refused. */
  CORTEX_CLIENT_TOKEN: z.string().min(1).optional(),
  /** Ed25519, PKCS8 PEM: by its public part devices know this server again. */
  CORTEX_DEVICE_SERVER_KEY: z.string().min(1).optional(),
  /** `first-use` lets the first key claim a free name; `off` takes a name on the word of the shared token alone. */
  CORTEX_DEVICE_ENROLMENT: z.enum(['join-code', 'first-use', 'off']).default('join-code'),
});
export type Config = z.output<typeof config>;
