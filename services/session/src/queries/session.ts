import { Id } from '@cortex/contracts';
import { cursor, defineQuery, limit, page } from '@cortex/service-kit';
import { z } from 'zod';
import { findSession, rowsOf, settled } from '../session/find.js';

/** One session with a page of its inbox: the newest messages, oldest of them first; `next_cursor` leads to older ones. */
export const sessionQuery = defineQuery({
  name: 'session',
  input: z.object({ session_id: Id, limit: limit(50), cursor: cursor() }),
  async handle({ session_id, ...paging }, ctx) {
    const { workspace, state, seq } = await findSession(ctx, session_id);
    await settled(ctx, seq);
    const inbox = rowsOf(ctx, workspace)
      .selectFrom('messages')
      .select(['message_id', 'seq', 'at', 'origin', 'delivery', 'tag', 'text'])
      .where('session_id', '=', session_id);
    const { rows, next_cursor } = await page(inbox, paging, { order: [['seq', 'desc']], id: 'message_id' });
    const { status, started_at, ended_at, end_reason, start } = state;
    return {
      session: { session_id, workspace_id: workspace, status, ...start, started_at, ended_at, end_reason },
      messages: rows.reverse().map(({ message_id, at, origin, delivery, tag, text }) => ({
        message_id,
        at: at.toISOString(),
        origin,
        delivery,
        tag,
        text,
      })),
      next_cursor,
    };
  },
});
