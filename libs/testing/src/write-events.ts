import { randomUUID } from 'node:crypto';
import type { Bus } from '@cortex/bus';
import { COMMIT_HEADER, NO_WORKSPACE, subjects, type CommitEnvelope } from '@cortex/contracts';
import type { SessionEvent } from '@cortex/contracts/session';
import type { WorkspaceEvent } from '@cortex/contracts/workspace';
import type { EventShape } from '@cortex/eventstore';

/**
 * Writes one commit of another service into the log, what a service under test projects or reacts to. `bus` is that
 * service's own; `aggregate` is `<context>.<name>`; workspace null for none. Answers the sequence.
 */
export async function writeEvents<Event extends EventShape>(
  bus: Bus,
  aggregate: `${string}.${string}`,
  workspace: string | null,
  id: string,
  events: readonly Event[],
  options: { at?: string; commit_id?: string } = {},
): Promise<number> {
  const { at = new Date().toISOString(), commit_id = randomUUID() } = options;
  const commit: CommitEnvelope = {
    commit_id,
    at,
    actor: { kind: 'system', id: 'test' },
    workspace: workspace ?? NO_WORKSPACE,
    correlation_id: commit_id,
    causation_id: commit_id,
    events: events.map(({ type, data }) => ({ type, version: 1, data })),
  };
  const { seq } = await bus.publishAcked(subjects.event(aggregate, workspace, id), JSON.stringify(commit), {
    msgId: commit_id,
    headers: { [COMMIT_HEADER]: commit_id },
  });
  return seq;
}

type Started = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];
export type SessionData = Partial<Started> & { workspace?: string | null; at?: string };
export interface WrittenSession {
  id: string;
  workspace: string | null;
}

/** The start of a session, as the session service writes it: by default of `per_1`, in `w1`, for the project `arm`. */
export async function writeSession(bus: Bus, id: string, given: SessionData = {}): Promise<WrittenSession> {
  const { workspace = 'w1', at, ...data } = given;
  const started: Started = {
    channel: `web:${id}`,
    project: 'arm',
    backend: 'claude',
    provider: null,
    model: null,
    thinking: null,
    mode: null,
    composition: 'direct',
    user_started: true,
    kind: 'direct',
    parent_session_id: null,
    root_session_id: id,
    person_id: 'per_1',
    agent_id: null,
    groups: [],
    allowlist: null,
    scopes: [],
    execution_id: `exec_local_0_${id}`,
    trigger: 'cli',
    ...data,
  };
  const events: SessionEvent[] = [{ type: 'SessionStarted', data: started }];
  await writeEvents(bus, 'session.session', workspace, id, events, { ...(at && { at }) });
  return { id, workspace };
}

/** Somebody becomes a member of a workspace. `bus` is that of team. */
export async function writeMember(bus: Bus, workspace: string, principal_id: string): Promise<void> {
  const events: WorkspaceEvent[] = [{ type: 'WorkspaceMemberSet', data: { principal_id, role: 'member' } }];
  await writeEvents(bus, 'team.workspace', workspace, 'all', events);
}
