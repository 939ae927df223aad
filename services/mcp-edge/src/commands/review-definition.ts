import { invalidArgument } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { Edge } from '../edge.js';

/**
 * What an operator decided about a definition, for whoever may send it: bound to the digest that was shown. Answers `{mode, quarantined, …}`.
 * Source: gateway, section 17.8. Errors: `not_found` (tool), `conflict` (digest), `failed_precondition` (baseline), `invalid_argument`.
 */
export const reviewDefinition = defineCommand({
  name: 'review_definition',
  input: z.object({
    tool: z.string().min(1).max(2048),
    action: z.enum(['acknowledge', 'rollback']),
    digest: z.string().regex(/^[0-9a-f]{64}$/, 'is no digest of 64 hex digits; take it from what was shown'),
    by: z.string().min(1).max(128),
  }),
  handle({ tool, action, digest, by }, ctx) {
    if (/\p{Cc}/u.test(by)) throw invalidArgument('by', 'holds control characters', 'give a name or an id');
    const { desk } = ctx.get(Edge);
    return action === 'acknowledge' ? desk.acknowledge(tool, digest, by) : desk.rollBack(tool, digest, by);
  },
});
