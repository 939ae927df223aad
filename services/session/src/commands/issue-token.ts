import { Id } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { SessionTokens } from '../keys/session-tokens.js';
import { findSession } from '../session/find.js';
import { assertMember } from '../session/rights.js';
import { sessionEnded } from '../session/session.decider.js';
import { TokenTtl } from './fields.js';

/**
 * Another token of an open session. Errors: `not_found`, `failed_precondition` when it has ended, `permission_denied` when its
 * person does not belong to its workspace any more.
 */
export const issueToken = defineCommand({
  name: 'issue_token',
  input: z.object({ session_id: Id, ttl_s: TokenTtl }),
  async handle({ session_id, ttl_s }, ctx) {
    const { workspace, state } = await findSession(ctx, session_id);
    if (state.status === 'ended') throw sessionEnded();
    const { start } = state;
    if (workspace !== null && start.person_id !== null) await assertMember(ctx, workspace, start.person_id);
    return ctx.get(SessionTokens).mint({ session_id, workspace, start, now: ctx.now(), ttl_s, jti: ctx.newId() });
  },
});
