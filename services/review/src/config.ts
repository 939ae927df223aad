import { z } from 'zod';

/** Nothing of its own yet; what every service reads is the kit's. */
export const config = z.object({});
