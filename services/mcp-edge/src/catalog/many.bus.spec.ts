import { unpackAnnouncement } from '@cortex/contracts/announcement';
import { defineService, defineTool } from '@cortex/service-kit';
import { BUCKETS } from '@cortex/contracts';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { startEdge } from '../testing/edge-fixture.js';

const TOOLS = 2_000;

/** About 1.5 KB, as the tools of a registry have. */
const tool = (n: number) => {
  const text = z.string().max(4_000).describe(`What is known of thing ${n}, and by whom it was said, in words`);
  return defineTool({
    name: `thing_${n}`,
    title: `Thing ${n}`,
    description: `Looks thing ${n} up. `.repeat(20),
    tier: 'read',
    actions: [],
    workspace: 'none',
    input: z.object({ id: text, state: z.enum(['open', 'closed']).optional(), title: text.optional() }),
    output: z.object({ n: z.number().int().describe(`The number of thing ${n}`) }),
    handle: () => ({ n }),
  });
};

it('a service may have thousands of tools: their list is larger than a message of the bus', async () => {
  const tools = Array.from({ length: TOOLS }, (_, n) => tool(n));
  await using edge = await startEdge({ beside: [defineService({ name: 'ticket', config: z.object({}), tools })] });
  const last = await edge.call(`thing_${TOOLS - 1}`, { id: 'x' });
  expect(last.body.result.structuredContent).toEqual({ n: TOOLS - 1 });
  const bus = await edge.nats.busAs('mcp-edge');
  const { value } = (await bus.kv(BUCKETS.tools.name).get('ticket'))!;
  expect(JSON.stringify(unpackAnnouncement(value)).length).toBeGreaterThan(bus.maxPayload);
});
