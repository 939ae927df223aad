import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { Rejections } from '../adapters/rejections.js';

/** The last 50 signals that were refused, the newest first: for whoever wonders why a signal does not arrive. */
export const rejections = defineQuery({
  name: 'rejections',
  input: z.object({}),
  handle: async (_args, ctx) => ({ rejections: await ctx.get(Rejections).newest() }),
});
