import { defineQuery } from '@cortex/service-kit';
import { z } from 'zod';
import { SessionKeys } from '../keys/session-keys.js';

/** The public keys of session tokens, as a JSON Web Key Set. */
export const jwks = defineQuery({
  name: 'jwks',
  input: z.object({}),
  handle: (_args, ctx) => ({ keys: ctx.get(SessionKeys).all }),
});
