import { COMMIT_HEADER, type CommitEnvelope, type ServiceName } from '@cortex/contracts';
import type { AgentEvent } from '@cortex/contracts/agent';
import type { FactEvent } from '@cortex/contracts/memory';
import type { RepoEvent } from '@cortex/contracts/repo';
import type { RunningService } from '@cortex/testing';

export const agent = (id: string) => ({
  principal: { type: 'agent' as const, id, roles: [] },
  scope: { agent_id: id },
});

/** Writes what another service would: an agent of the workspace, a repository. */
export async function tell(
  app: RunningService,
  service: ServiceName,
  aggregate: string,
  id: string,
  event: AgentEvent | RepoEvent,
): Promise<void> {
  const bus = await app.nats.busAs(service);
  const commit_id = `${service}-${id}`;
  const commit: CommitEnvelope = {
    commit_id,
    at: '2026-01-05T10:00:00.000Z',
    actor: { kind: 'system', id: service },
    workspace: 'w1',
    correlation_id: 'c',
    causation_id: 'c',
    events: [{ version: 1, ...event }],
  };
  await bus.publishAcked(`cortex.evt.${service}.w1.${aggregate}.${id}`, JSON.stringify(commit), {
    expectLastSubjectSeq: 0,
    headers: { [COMMIT_HEADER]: commit_id },
  });
}

/** The events of every fact of a workspace, in the order of the log. */
export async function factEvents(app: RunningService, workspace = 'w1'): Promise<FactEvent[]> {
  const { direct } = app.host.bus;
  const events: FactEvent[] = [];
  for (let seq = 1; ; seq++) {
    const message = await direct.next('CORTEX_EVENTS', `cortex.evt.memory.${workspace}.fact.*`, seq);
    if (!message) return events;
    seq = message.seq;
    const { events: recorded } = JSON.parse(Buffer.from(message.data).toString()) as CommitEnvelope;
    events.push(...(recorded as unknown as FactEvent[]));
  }
}

export const typesOf = (events: readonly FactEvent[]): string[] => events.map(({ type }) => type);
