import type { CommitEnvelope } from '@cortex/contracts';
import type { AgentEvent } from '@cortex/contracts/agent';
import type { FactEvent } from '@cortex/contracts/memory';
import type { RepoEvent } from '@cortex/contracts/repo';
import { writeEvents, type RunningService } from '@cortex/testing';

export const agent = (id: string) => ({
  principal: { type: 'agent' as const, id, roles: [] },
  scope: { agent_id: id },
});

/** What other services record of the workspace `w1`: the agent `a1`, a coder, and the repository `r1`, `Acme/API`. */
export async function tellWorkspace({ nats }: RunningService): Promise<void> {
  const agents: AgentEvent[] = [{ type: 'AgentRegistered', data: { name: 'ann', role: 'coder' } }];
  await writeEvents(await nats.busAs('team'), 'team.agent', 'w1', 'a1', agents);
  const data = { repo_id: 'r1', full_name: 'Acme/API', path: '/srv/api', default_branch: 'main' };
  const repos: RepoEvent[] = [{ type: 'RepoAdded', data }];
  await writeEvents(await nats.busAs('review'), 'review.repo', 'w1', 'r1', repos);
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
