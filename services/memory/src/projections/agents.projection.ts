import type { AgentEvent } from '@cortex/contracts/agent';
import { defineProjection } from '@cortex/eventstore';
import type { MemoryDb } from './tables.js';

/** Which agents a workspace has, and in which role each speaks: grants go by it. */
export const agents = defineProjection<AgentEvent, MemoryDb>({
  name: 'memory_agents_v1',
  subject: 'cortex.evt.team.*.agent.*',
  tables: ['agents'],
  on: {
    AgentRegistered: ({ id, workspace, data: { role = 'general' } }, tx) =>
      tx
        .insertInto('agents')
        .values({ workspace_id: workspace, agent_id: id, role })
        .onConflict((oc) => oc.columns(['workspace_id', 'agent_id']).doUpdateSet({ role }))
        .execute(),
  },
});
