import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { edgeScope } from '../edge-scope.js';
import type { CatalogTool } from '../seams.js';
import { injected, whereabouts } from './injected.js';

const LINE = 160;

/** Sorts the visible tools by what the mode permits. Events: none. Errors: none. Source: workspace-tools-2, section 3.3. */
export const listMyTools = defineTool({
  name: 'list_my_tools',
  title: 'List my tools',
  description:
    'Lists the names of all tools that you can see, split into those that the mode of this conversation permits and ' +
    'those that it refuses, with the reason. Use search_tool_bm25 to find one by what it does. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'optional',
  input: z.object(injected),
  output: z.object({
    conversation_mode: z.string().describe('chat when this call belongs to no conversation'),
    total_tools: z.number().int(),
    available_count: z.number().int(),
    restricted_count: z.number().int(),
    available: z.array(z.object({ name: z.string(), description: z.string().describe('One line') })),
    restricted: z.array(z.object({ name: z.string(), reason: z.string() })),
    note: z.string(),
  }),
  handle(args, ctx) {
    const { caller, catalog, modes } = edgeScope(ctx);
    const mode = modes.modeOf(caller, whereabouts(args, ctx)) ?? 'chat';
    const available: { name: string; description: string }[] = [];
    const restricted: { name: string; reason: string }[] = [];
    for (const tool of [...catalog.visible(caller)].sort(byName)) {
      const reason = modes.restriction(tool, mode);
      if (reason === undefined) available.push({ name: tool.name, description: oneLine(tool.announced.description) });
      else restricted.push({ name: tool.name, reason });
    }
    return {
      conversation_mode: mode,
      total_tools: available.length + restricted.length,
      available_count: available.length,
      restricted_count: restricted.length,
      available,
      restricted,
      note: 'What your scopes do not permit is not listed at all; whoami tells which you hold.',
    };
  },
});

const byName = (a: CatalogTool, b: CatalogTool): number => (a.name < b.name ? -1 : 1);

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= LINE ? line : `${line.slice(0, LINE - 1)}…`;
}
