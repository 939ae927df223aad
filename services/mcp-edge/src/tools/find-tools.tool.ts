import { invalidArgument } from '@cortex/contracts';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { readJson } from '../federation/schemas/json-values.js';
import { edgeScope } from '../edge-scope.js';
import type { CatalogTool } from '../seams.js';
import { indented } from './indented.js';

const MAX_HITS = 10;

/** Gives definitions by name or by a piece of text. Events: none. Errors: invalid_argument. Source: gateway, section 16.2. */
export const findTools = defineTool({
  name: 'find_tools',
  title: 'Find tools',
  description:
    'Gives the full definitions of tools: exactly those in names, or at most 10 whose name, title or description holds ' +
    'query. Use it before you call a tool of which the list shows only a line. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  builtin: true,
  input: z.object({
    names: z.array(z.string().max(128)).max(100).optional().describe('Exact names; wins over query'),
    query: z
      .string()
      .max(400)
      .optional()
      .describe(
        'Text to look for; case does not matter. One word finds more than a phrase; for several, search_tool_bm25',
      ),
  }),
  output: z.object({
    tools: z
      .array(
        z.looseObject({
          name: z.string(),
          title: z.string().optional(),
          description: z.string(),
          inputSchema: z.record(z.string(), z.unknown()).describe('JSON Schema of the arguments'),
          outputSchema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of the result'),
          annotations: z.record(z.string(), z.unknown()).optional().describe('Hints of MCP'),
        }),
      )
      .describe('As tools/list would show them to you in full'),
  }),
  handle({ names, query }, ctx) {
    const { caller, catalog, definitionOf } = edgeScope(ctx);
    const visible = catalog.visible(caller);
    const text = folded(query ?? '').trim();
    if (names === undefined && text === '') {
      throw invalidArgument('query', 'is missing', 'give names or a text to look for');
    }
    const found = names ? named(visible, names) : matching(visible, text);
    return indented({
      tools: found.flatMap((tool) => {
        const definition = definitionOf(tool);
        return definition === undefined ? [] : [readJson(definition) as Definition];
      }),
    });
  },
});

type Definition = {
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  [more: string]: unknown;
};

function named(tools: readonly CatalogTool[], names: readonly string[]): CatalogTool[] {
  const wanted = new Set(names);
  return tools.filter(({ name }) => wanted.has(name));
}

function matching(tools: readonly CatalogTool[], text: string): CatalogTool[] {
  const byName: CatalogTool[] = [];
  const byText: CatalogTool[] = [];
  for (const tool of tools) {
    const { name, rest } = searchedIn(tool);
    if (name.includes(text)) byName.push(tool);
    else if (rest.includes(text)) byText.push(tool);
    if (byName.length === MAX_HITS) break;
  }
  return [...byName, ...byText].slice(0, MAX_HITS);
}

/** What of a tool a query is looked for in, made once per definition: a catalogue may hold thousands. */
const searched = new WeakMap<CatalogTool, { name: string; rest: string }>();
function searchedIn(tool: CatalogTool): { name: string; rest: string } {
  let texts = searched.get(tool);
  if (texts === undefined) {
    const { name, announced, federated } = tool;
    // An original name that had to be cleaned is what its users know the tool by.
    const rest = [federated?.original ?? '', announced.title, announced.description].map(folded).join('\n');
    searched.set(tool, (texts = { name: folded(name), rest }));
  }
  return texts;
}

/** Letters that only look or are written another way are the same ones. */
const folded = (text: string): string => text.normalize('NFKC').toLowerCase();
