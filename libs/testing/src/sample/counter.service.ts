import { Id } from '@cortex/contracts';
import { defineService, defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { counter } from './counter.decider.js';
import { counterMigrations, counters } from './counters.projection.js';

export const counterIncrement = defineTool({
  name: 'counter_increment',
  title: 'Increment a counter',
  description: 'Adds to a counter, which is opened by its first increment.',
  tier: 'write',
  actions: ['workspaceMutation'],
  workspace: 'required',
  input: z.object({ counter_id: Id, by: z.number().int().min(1).max(1000).default(1) }),
  output: z.object({ counter_id: Id, total: z.number() }),
  async handle({ counter_id, by }, ctx) {
    await ctx.execute(counter, counter_id, { type: 'IncrementCounter', by });
    const { state } = await ctx.load(counter, counter_id);
    return { counter_id, total: state.status === 'none' ? 0 : state.total };
  },
});

export const counterGet = defineTool({
  name: 'counter_get',
  title: 'Read a counter',
  description: 'Total and number of increments of a counter, out of the view.',
  tier: 'read',
  actions: [],
  workspace: 'required',
  input: z.object({ counter_id: Id }),
  output: z.object({ total: z.number(), commits: z.number() }),
  async handle({ counter_id }, ctx) {
    const db = await ctx.read(counters);
    const row = await db.selectFrom('counters').selectAll().where('counter_id', '=', counter_id).executeTakeFirst();
    return { total: row?.total ?? 0, commits: row?.commits ?? 0 };
  },
});

/** The sample service: it stands in the place of `ticket`, since only real services have rights on the bus. */
export const counterService = defineService({
  name: 'ticket',
  config: z.object({}),
  tools: [counterIncrement, counterGet],
  projections: [counters],
  migrations: counterMigrations,
});
