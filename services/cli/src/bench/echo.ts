import { defineService, defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { TOOL } from './request.js';

const text = z.string().describe('Text that comes back');

const tool = (name: string) =>
  defineTool({
    name,
    title: 'Echo',
    description: 'Gives back the text. Exists while the bench runs.',
    tier: 'read',
    actions: [],
    workspace: 'none',
    input: z.object({ text, times: z.int().min(1).max(64).default(1).describe('How many times over') }),
    output: z.object({ text }),
    handle: ({ text, times }) => ({ text: text.repeat(times) }),
  });

/**
 * Stands in for a service; it borrows the name of one, since bus users and subjects are those of the ten. The tools after
 * the first only make the catalog longer.
 */
export const echoService = (tools = 1) =>
  defineService({
    name: 'waitpoint',
    config: z.object({}),
    tools: Array.from({ length: tools }, (_, i) => tool(i === 0 ? TOOL : `${TOOL}_${i}`)),
    migrations: {},
  });
