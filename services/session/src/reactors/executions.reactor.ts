import { subjects } from '@cortex/contracts';
import type { SessionEvent } from '@cortex/contracts/session';
import { defineReactor } from '@cortex/service-kit';
import { session } from '../session/session.decider.js';

/** Tells `audit` of the run that a session is, so that no session waits for it. Both commands are idempotent by the run's id. */
export const executions = defineReactor<SessionEvent>({
  name: 'session_executions_v1',
  subject: 'cortex.evt.session.*.session.*',
  on: {
    async SessionStarted({ id, data }, ctx) {
      const { execution_id, project, backend, parent_session_id, person_id, trigger, channel } = data;
      if (execution_id === null) return;
      await ctx.ask(subjects.command('audit', 'start_execution'), {
        execution_id,
        kind: 'local',
        project,
        backend,
        session_id: id,
        owner_session_id: parent_session_id,
        person_id,
        trigger,
        label: channel,
      });
    },
    async SessionEnded({ id, at }, ctx) {
      const { state } = await ctx.load(session, id);
      if (state.status === 'none' || state.start.execution_id === null) return;
      await ctx.ask(subjects.command('audit', 'finish_execution'), {
        execution_id: state.start.execution_id,
        session_id: id,
        outcome: 'completed',
        duration_s: Math.max(0, Date.parse(at) - Date.parse(state.started_at)) / 1000,
      });
    },
  },
});
