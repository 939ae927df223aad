import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { People } from '../auth/people.js';

/** The `per_` id of somebody at an issuer, minted where it is the first time that they are named. Safe to repeat. */
export const registerPerson = defineCommand({
  name: 'register_person',
  input: z.object({
    issuer: z.string().min(1).max(2048),
    sub: z
      .string()
      .min(1)
      .max(1024)
      .regex(/^\P{Cc}*$/u, 'holds control characters; give the subject as the issuer writes it'),
  }),
  handle: async ({ issuer, sub }, ctx) => ({ person_id: await ctx.get(People).register({ issuer, sub }) }),
});
