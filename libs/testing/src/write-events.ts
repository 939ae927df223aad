import { randomUUID } from 'node:crypto';
import type { Bus } from '@cortex/bus';
import { COMMIT_HEADER, NO_WORKSPACE, subjects, type CommitEnvelope } from '@cortex/contracts';
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
