import type { AgentEvent } from '@cortex/contracts/agent';
import { defineProjection } from '@cortex/eventstore';
import type { AgentDb } from './tables.js';

/** Which agents a workspace has: a ticket is assigned to nobody else. */
export const agents = defineProjection<AgentEvent, AgentDb>({
  name: 'ticket_agents_v1',
  subject: 'cortex.evt.team.*.agent.*',
  tables: ['agent_ids'],
  on: {
    AgentRegistered: ({ id, workspace }, tx) =>
      tx
        .insertInto('agent_ids')
        .values({ agent_id: id, workspace })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
  },
});
