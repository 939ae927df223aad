import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { Retention } from '../retention/purge.js';

/** Lets go what is older than the retention. Answers `{deleted, retentionDays, cutoff}`; repeating it is safe. Errors: unavailable. */
export const purge = defineCommand({
  name: 'purge',
  input: z.object({}),
  handle: async (_args, ctx) => ({ ...(await ctx.get(Retention).purge(new Date(ctx.now()), ctx.signal)) }),
});
