import { text } from '@cortex/service-kit';
import { z } from 'zod';

/** Text without white space around it, 1 to `max` characters. */
export const trimmed = (max: number) =>
  z
    .string()
    .transform((given) => given.trim())
    .pipe(text({ max, blank: false }));

/** Such text that may be left out; what is blank counts as left out. */
export const optionalTrimmed = (max: number) =>
  z
    .string()
    .transform((given) => given.trim())
    .pipe(text({ max }))
    .transform((given) => (given === '' ? null : given))
    .nullable()
    .optional();
