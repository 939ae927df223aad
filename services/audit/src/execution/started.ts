import type { SessionKind } from '@cortex/contracts/session';
import type { ExecutionKind } from '@cortex/contracts/execution';
import type { SessionRowRead } from '@cortex/service-kit/ownership';
import type { StartFields } from '../commands/fields.js';
import type { Started } from './execution.decider.js';

const KINDS: Record<SessionKind, ExecutionKind> = {
  direct: 'local',
  run: 'local',
  worker: 'worker',
  subagent: 'subagent',
};

/** The whole of a start: what was told, else what is known of the session that runs. `now` is when it was told. */
export function startedOf(told: StartFields, session: SessionRowRead | undefined, now: string): Started {
  const project = told.project ?? session?.project ?? 'general';
  const trigger = told.trigger ?? session?.trigger ?? 'unknown';
  // A session's own run began with it, however late it is told of.
  const own = session?.execution_id === told.execution_id ? session.started_at.toISOString() : now;
  return {
    execution_id: told.execution_id,
    run_id: told.run_id ?? null,
    kind: told.kind ?? KINDS[session?.kind ?? 'direct'],
    project,
    backend: told.backend ?? session?.backend ?? null,
    billing_mode: told.billing_mode ?? null,
    session_id: told.session_id,
    owner_session_id: told.owner_session_id ?? session?.parent_session_id ?? null,
    person_id: told.person_id ?? session?.person_id ?? null,
    trigger,
    label: told.label ?? trigger,
    schedule_task_id: told.schedule_task_id ?? null,
    started_at: told.started_at ?? own,
  };
}
