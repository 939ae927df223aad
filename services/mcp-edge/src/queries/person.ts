import { Id, notFound } from '@cortex/contracts';
import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { People } from '../auth/people.js';

/**
 * What the last verified token of a person permitted, and when it was seen: null for somebody who was registered and never
 * came. Source: gateway, section 10.10. Errors: `not_found` (person_id).
 */
export const personQuery = defineQuery({
  name: 'person',
  input: z.object({ person_id: Id }),
  async handle({ person_id }, ctx) {
    const person = await ctx.get(People).rightsOf(person_id);
    if (person === undefined) throw notFound('person_id', 'is nobody', 'name somebody who was registered or came');
    return { scopes: person.scopes, last_seen_at: person.last_seen_at?.toISOString() ?? null };
  },
});
