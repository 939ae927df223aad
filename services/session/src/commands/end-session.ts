import { Id } from '@cortex/contracts';
import { defineCommand, text } from '@cortex/service-kit';
import { z } from 'zod';
import { findSession } from '../session/find.js';
import { session } from '../session/session.decider.js';

/** Ends a session: its tokens are refused from then on. One that has ended stays as it ended. Errors: `not_found`. */
export const endSession = defineCommand({
  name: 'end_session',
  input: z.object({ session_id: Id, reason: text({ max: 200, blank: false }).default('closed') }),
  async handle({ session_id, reason }, ctx) {
    const { workspace, state } = await findSession(ctx, session_id);
    const scope = { session_id, project: state.start.project };
    await ctx.execute(session, session_id, { type: 'EndSession', reason }, { workspace, scope });
    return { session_id, ended: state.status === 'open' };
  },
});
