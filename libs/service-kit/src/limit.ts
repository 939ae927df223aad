import { z } from 'zod';

const MOST = 500;

/**
 * An argument that says how many to give. Whatever is sent becomes a whole number from 1 to `most` (500): what is no number becomes
 * `fallback`, zero and less become 1. So its JSON Schema names the bounds in words alone: a bound that refuses would refuse.
 */
export const limit = (fallback: number, most = MOST) =>
  z
    .unknown()
    .meta({ description: `At most so many, 1 to ${most}; default ${fallback}`, default: fallback })
    .optional()
    .transform((given) => (typeof given === 'number' ? Math.min(Math.max(Math.trunc(given), 1), most) : fallback));
