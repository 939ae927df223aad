import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { People } from '../auth/people.js';

/**
 * What to call somebody where people read it: address, else subject at the issuer; null for who is no person, or was erased. It belongs
 * in no event. Errors: `unavailable` while people cannot be looked up.
 */
export const personName = defineQuery({
  name: 'person_name',
  input: z.object({ person_id: z.string().min(1).max(128) }),
  async handle({ person_id }, ctx) {
    const person = await ctx.get(People).behind(person_id);
    return { name: person === null ? null : person.email || person.sub };
  },
});
