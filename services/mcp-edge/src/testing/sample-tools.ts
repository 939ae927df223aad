import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, unavailable } from '@cortex/contracts';
import { defineService, defineTool, result } from '@cortex/service-kit';
import { z } from 'zod';

/** How often each tool ran, and what was cancelled: what a test asks when it wants to know whether something happened at all. */
export const seen = { runs: new Map<string, number>(), cancelled: new Set<string>() };
export const ran = (tool: string): number => seen.runs.get(tool) ?? 0;
const note = (tool: string): void => void seen.runs.set(tool, ran(tool) + 1);

const plain = { title: 'A sample', actions: [], workspace: 'none' } as const;

export const echo = defineTool({
  ...plain,
  name: 'sample_echo',
  description: 'Gives the text back. Safe to repeat.',
  tier: 'read',
  input: z.object({
    text: z.string().max(1_000_000).describe('Any text'),
    times: z.number().int().min(1).max(9).optional(),
  }),
  output: z.object({ text: z.string() }),
  handle({ text, times = 1 }) {
    note('sample_echo');
    return { text: text.repeat(times) };
  },
});

export const fail = defineTool({
  ...plain,
  name: 'sample_fail',
  description: 'Fails in the way that it is told to.',
  tier: 'read',
  input: z.object({ how: z.enum(['unavailable', 'taken', 'outrun', 'bug', 'is_error']) }),
  output: z.object({ text: z.string() }),
  handle({ how }) {
    note('sample_fail');
    if (how === 'unavailable')
      throw unavailable('weather', 'is bad', 'wait for the sun', { reason: 'upstream_failed' });
    if (how === 'taken') throw conflict('name', 'is taken', 'use another one', { reason: 'name_taken' });
    if (how === 'outrun') throw conflict('id', 'was changed by others', 'call again', { reason: 'revision_conflict' });
    if (how === 'bug') throw new TypeError('secret path /srv/cortex/internals.ts');
    return result(
      { text: 'exit 1' },
      { isError: true, content: [{ type: 'text', text: 'exit 1' }], meta: { 'cortex/exit': 1 } },
    );
  },
});

export const slow = defineTool({
  ...plain,
  name: 'sample_slow',
  description: 'Sleeps, unless it is cancelled.',
  tier: 'write',
  deadlineMs: 20_000,
  input: z.object({ ms: z.number().int().min(0).max(60_000), mark: z.string().default('') }),
  output: z.object({ mark: z.string() }),
  async handle({ ms, mark }, ctx) {
    note('sample_slow');
    try {
      await sleep(ms, undefined, { signal: ctx.signal });
    } catch {
      seen.cancelled.add(mark);
      ctx.signal.throwIfAborted();
    }
    return { mark };
  },
});

export const risky = defineTool({
  ...plain,
  name: 'sample_risky',
  description: 'Deletes a file, so it is asked about.',
  tier: 'write',
  actions: ['fileDelete'],
  input: z.object({ path: z.string() }),
  output: z.object({ path: z.string() }),
  handle({ path }) {
    note('sample_risky');
    return { path };
  },
});

export const spawn = defineTool({
  ...plain,
  name: 'sample_spawn',
  description: 'Starts a process: its class is allowed by default.',
  tier: 'write',
  actions: ['processSpawn'],
  scopes: ['mcp:cortex:devices:exec'],
  input: z.object({ command: z.string() }),
  output: z.object({ command: z.string() }),
  handle({ command }) {
    note('sample_spawn');
    return { command };
  },
});

export const asks = defineTool({
  ...plain,
  name: 'sample_asks',
  description: 'Asks before it runs.',
  tier: 'write',
  approval: () => ({ title: 'Do it', detail: 'really' }),
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  handle() {
    note('sample_asks');
    return { done: true };
  },
});

export const inSession = defineTool({
  ...plain,
  name: 'sample_session',
  description: 'Needs an agent session.',
  tier: 'read',
  session: true,
  group: 'cortex-ext',
  input: z.object({}),
  output: z.object({ done: z.boolean() }),
  handle: () => ({ done: true }),
});

export const inWorkspace = defineTool({
  ...plain,
  name: 'sample_workspace',
  description: 'Belongs to a workspace.',
  tier: 'write',
  workspace: 'required',
  input: z.object({ title: z.string() }),
  output: z.object({ workspace: z.string() }),
  handle(_args, ctx) {
    note('sample_workspace');
    return { workspace: ctx.workspace ?? '' };
  },
});

export const ticket = defineTool({
  ...plain,
  name: 'sample_ticket',
  description: 'Writes what may reach an outside tracker, and asks before it runs.',
  tier: 'write',
  actions: ['vendorSyncWrite'],
  workspace: 'required',
  approval: ({ title }) => ({ title: 'Create ticket', detail: title }),
  input: z.object({ title: z.string(), space_id: z.string().optional(), agent_id: z.string().optional() }),
  output: z.object({ workspace: z.string(), via: z.string().optional(), space_id: z.string().optional() }),
  handle({ space_id }, ctx) {
    note('sample_ticket');
    const { workspace, approval } = ctx;
    return { workspace: workspace ?? '', ...(approval && { via: approval.via }), ...(space_id && { space_id }) };
  },
});

/** Stands in the place of `ticket`: only real services have rights on the bus. */
export const sampleService = defineService({
  name: 'ticket',
  config: z.object({}),
  tools: [echo, fail, slow, risky, spawn, asks, inSession, inWorkspace, ticket],
});
