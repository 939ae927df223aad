import { hintsOf, invalidArgument } from '@cortex/contracts';
import { defineTool } from '@cortex/service-kit';
import { z } from 'zod';
import { edgeScope, type CatalogTool } from '../seams.js';
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
    query: z.string().max(400).optional().describe('Text to look for; case does not matter'),
  }),
  output: z.object({
    tools: z.array(
      z.object({
        name: z.string(),
        title: z.string(),
        description: z.string(),
        inputSchema: z.record(z.string(), z.unknown()).describe('JSON Schema of the arguments'),
        outputSchema: z.record(z.string(), z.unknown()).optional().describe('JSON Schema of the result'),
        annotations: z.record(z.string(), z.unknown()).describe('Hints of MCP'),
      }),
    ),
  }),
  handle({ names, query }, ctx) {
    const { caller, catalog, schemasOf } = edgeScope(ctx);
    const visible = catalog.visible(caller);
    const text = query?.trim().toLowerCase() ?? '';
    if (names === undefined && text === '') {
      throw invalidArgument('query', 'is missing', 'give names or a text to look for');
    }
    const found = names ? named(visible, names) : matching(visible, text);
    return indented({
      tools: found.flatMap((tool) => {
        const schemas = schemasOf(tool);
        return schemas === undefined ? [] : [definition(tool, schemas)];
      }),
    });
  },
});

const named = (tools: readonly CatalogTool[], names: readonly string[]): CatalogTool[] =>
  tools.filter(({ name }) => names.includes(name));

function matching(tools: readonly CatalogTool[], text: string): CatalogTool[] {
  const has = (value: string) => value.toLowerCase().includes(text);
  const byName = tools.filter(({ name }) => has(name));
  const byText = tools.filter(
    ({ name, announced }) => !has(name) && (has(announced.title) || has(announced.description)),
  );
  return [...byName, ...byText].slice(0, MAX_HITS);
}

const definition = (
  { name, announced }: CatalogTool,
  { input, output }: { input: object; output: object | undefined },
) => ({
  name,
  title: announced.title,
  description: announced.description,
  inputSchema: { ...input },
  ...(output !== undefined && { outputSchema: { ...output } }),
  annotations: hintsOf(announced),
});
