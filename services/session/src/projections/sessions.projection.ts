import type { SessionEvent } from '@cortex/contracts/session';
import { defineProjection } from '@cortex/eventstore';
import type { SessionDb } from './tables.js';

/** Every session, its inbox, and where it is to be found. */
export const sessions = defineProjection<SessionEvent, SessionDb>({
  name: 'sessions_v1',
  subject: 'cortex.evt.session.*.session.*',
  tables: ['sessions', 'messages', 'session_ids'],
  on: {
    SessionStarted({ id, workspace, at, data }, tx) {
      const { channel, project, kind, trigger, person_id, execution_id, groups, scopes } = data;
      const row = { channel, project, kind, trigger, person_id, execution_id, groups, scopes };
      return Promise.all([
        tx
          .insertInto('sessions')
          .values({ workspace_id: workspace, session_id: id, ...row, started_at: at, ended_at: null, end_reason: null })
          .onConflict((oc) => oc.doNothing())
          .execute(),
        tx
          .insertInto('session_ids')
          .values({ session_id: id, workspace, started_at: at, ended_at: null })
          .onConflict((oc) => oc.doNothing())
          .execute(),
      ]);
    },
    SessionEnded: ({ id, workspace, at, data }, tx) =>
      Promise.all([
        tx
          .updateTable('sessions')
          .where('workspace_id', '=', workspace)
          .where('session_id', '=', id)
          .set({ ended_at: at, end_reason: data.reason })
          .execute(),
        tx
          .updateTable('session_ids')
          .where('workspace', '=', workspace)
          .where('session_id', '=', id)
          .set({ ended_at: at })
          .execute(),
      ]),
    MessageDelivered({ id, workspace, seq, at, data }, tx) {
      const { message_id, origin, delivery, tag, text } = data;
      return tx
        .insertInto('messages')
        .values({ workspace_id: workspace, session_id: id, message_id, seq, at, origin, delivery, tag, text })
        .onConflict((oc) => oc.doNothing())
        .execute();
    },
  },
});
