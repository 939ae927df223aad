import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';

const here = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const config = z.object({
  /** Data root: `config/prices.json`, `config/budget.json`. */
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
  /** Zone of "today" and "this month", such as `Europe/Berlin`; default, and where it names none: that of the machine. */
  TZ: z
    .string()
    .optional()
    .transform((zone) => (zone !== undefined && isZone(zone) ? zone : here())),
});
export type Config = z.output<typeof config>;
