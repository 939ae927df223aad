import type { SessionEvent } from '@cortex/contracts/session';
import { defineProjection } from '@cortex/eventstore';
import type { EdgeDb } from './tables.js';

/** Longer than any token of a session lives. */
export const SESSION_REMEMBERED_MS = 13 * 3_600_000;

/** Every open session as it was started, and those that ended lately: their tokens are refused at once instead of waited for. */
export const gateSessions = defineProjection<SessionEvent, EdgeDb>({
  name: 'gate_sessions_v1',
  subject: 'cortex.evt.session.*.session.*',
  tables: ['open_sessions'],
  on: {
    SessionStarted: ({ workspace, seq, id, data }, tx) =>
      tx
        .insertInto('open_sessions')
        .values({ workspace, session_id: id, started: JSON.stringify(data), ended_at: null, seq })
        // Its id is its own in all workspaces; what would start it a second time is not to reopen or move it.
        .onConflict((oc) => oc.doNothing())
        .execute(),
    SessionEnded: ({ workspace, seq, id, at }, tx) => {
      const longAgo = new Date(Date.parse(at) - SESSION_REMEMBERED_MS).toISOString();
      return Promise.all([
        tx
          .updateTable('open_sessions')
          .where('session_id', '=', id)
          .where('workspace', '=', workspace)
          .where('ended_at', 'is', null)
          .set({ ended_at: at, seq })
          .execute(),
        // By the time of the event, not of the clock: a rebuilt table is the same.
        tx.deleteFrom('open_sessions').where('ended_at', '<', longAgo).execute(),
      ]);
    },
  },
});
