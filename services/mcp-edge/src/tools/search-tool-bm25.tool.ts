import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { edgeScope } from '../edge-scope.js';
import type { CatalogTool } from '../seams.js';
import { labelOf } from './bm25.js';
import { injected, whereabouts } from './injected.js';
import { indexOf, schemaKeys } from './tool-index.js';

const DEFAULT_LIMIT = 8;
const MAX_LIMIT = 50;

/** Finds tools by keyword. Events: none. Errors: invalid_argument (query). Source: workspace-tools-2, section 3.2. */
export const searchToolBm25 = defineTool({
  name: 'search_tool_bm25',
  title: 'Search tools',
  description:
    'Finds tools by keyword, best match first, and says of each whether it can be called in the mode of this ' +
    'conversation. Use it when you know what you want to do but not which tool does it. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'optional',
  input: z.object({
    query: z.string().trim().min(1).max(400).describe('Keywords such as "close ticket", 1 to 400 characters'),
    limit: z.number().int().optional().describe('How many to give; default 8, at most 50'),
    ...injected,
  }),
  output: z.object({
    query: z.string(),
    limit: z.number().int().describe('The limit that was used'),
    total_tools: z.number().int().describe('Tools that you can see'),
    conversation_mode: z.string().optional().describe('Absent when this call belongs to no conversation'),
    matches: z.array(z.string()).describe('Names, best first'),
    tools: z.array(
      z.object({
        name: z.string(),
        label: z.string().describe('The name as words'),
        description: z.string(),
        schema_keys: z.array(z.string()).describe('Names of the arguments'),
        input_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of the arguments'),
        score: z.number().describe('Higher is better; four decimals'),
        callable: z.boolean().describe('As far as the mode is concerned'),
        restricted_reason: z.string().optional().describe('Why not, and what to do instead'),
      }),
    ),
    note: z.string(),
  }),
  handle(args, ctx) {
    const { caller, catalog, modes } = edgeScope(ctx);
    const visible = new Map(catalog.visible(caller).map((tool) => [tool.name, tool]));
    const limit = args.limit === undefined || args.limit <= 0 ? DEFAULT_LIMIT : Math.min(args.limit, MAX_LIMIT);
    const mode = modes.modeOf(caller, whereabouts(args, ctx));
    const restricted = (tool: CatalogTool) => (mode === undefined ? undefined : modes.restriction(tool, mode));
    const tools = indexOf(catalog)
      .search(args.query)
      .flatMap(({ name, score }) => {
        const tool = visible.get(name);
        return tool ? [{ tool, score }] : [];
      })
      .slice(0, limit)
      .map(({ tool, score }) => {
        const reason = restricted(tool);
        return {
          name: tool.name,
          label: labelOf(tool.name),
          description: tool.announced.description,
          schema_keys: schemaKeys(tool),
          input_schema: tool.announced.input_schema,
          score: Number(score.toFixed(4)),
          callable: reason === undefined,
          ...(reason !== undefined && { restricted_reason: reason }),
        };
      });
    return {
      query: args.query,
      limit,
      total_tools: visible.size,
      ...(mode !== undefined && { conversation_mode: mode }),
      matches: tools.map(({ name }) => name),
      tools,
      note: tools.length === 0 ? 'Nothing matches; try other words, or list_my_tools for all names.' : NOTE,
    };
  },
});

const NOTE = 'callable speaks of the mode alone; scopes, rules and approvals are checked when you call.';
