import { Id } from '@cortex/contracts';
import { defineCommand, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { SessionTokens } from '../keys/session-tokens.js';
import { findSession } from '../session/find.js';
import { assertMember, heldBy } from '../session/rights.js';
import { sessionEnded, type SessionStart } from '../session/session.decider.js';
import { TokenTtl } from './fields.js';

/**
 * Another token of an open session, with those of its scopes that its person still holds. Errors: `not_found` (session_id, or
 * person_id of somebody who was erased), `failed_precondition` when it has ended, `permission_denied` when its person does not
 * belong to its workspace any more.
 */
export const issueToken = defineCommand({
  name: 'issue_token',
  input: z.object({ session_id: Id, ttl_s: TokenTtl }),
  async handle({ session_id, ttl_s }, ctx) {
    const { workspace, state } = await findSession(ctx, session_id);
    if (state.status === 'ended') throw sessionEnded();
    const start = await lessWhatWasLost(ctx, state.start, workspace);
    return ctx.get(SessionTokens).mint({ session_id, workspace, start, now: ctx.now(), ttl_s, jti: ctx.newId() });
  },
});

async function lessWhatWasLost(ctx: ToolContext, start: SessionStart, workspace: string | null): Promise<SessionStart> {
  const { person_id, scopes } = start;
  if (person_id === null) return start;
  const [held] = await Promise.all([
    heldBy(ctx, person_id, new Set(scopes)),
    workspace === null ? undefined : assertMember(ctx, workspace, person_id),
  ]);
  return { ...start, scopes: [...held] };
}
