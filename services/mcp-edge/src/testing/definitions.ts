import { observe, type Observed } from '../federation/integrity/fingerprint.js';
import type { CatalogCommand } from '../federation/integrity/catalog.decider.js';
import { type Policy, keyOf } from '../federation/integrity/catalog-state.js';
import { membersOf } from '../federation/json-text.js';
import type { Declared, DeclaredTool } from '../federation/types.js';

/** A tool as a backend declares it: a plain `echo`, but for what is given. Text = the whole item as JSON. */
export function declaredTool(original: string, change: Record<string, unknown> | string): DeclaredTool {
  const json =
    typeof change === 'string'
      ? change
      : JSON.stringify({
          name: original,
          scope: 'mcp:demo:read',
          description: 'Says it back.',
          inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
          ...change,
        });
  const value = JSON.parse(json) as Partial<DeclaredTool> & Record<string, unknown>;
  const raw = membersOf(json);
  return {
    original,
    scope: value['scope'] ?? '',
    description: value['description'] ?? '',
    inputSchema: value['inputSchema'] ?? {},
    schemaTexts: { input: raw.get('inputSchema') ?? '{}' },
    ...(value['annotations'] && { annotations: value['annotations'] }),
    version: value['version'] ?? '1.0.0',
    raw,
    value,
  };
}

export const declared = (tools: readonly DeclaredTool[]): Declared => ({
  tools,
  prompts: [],
  templates: [],
  resources: [],
});

export const observedTool = (name: string, change: Record<string, unknown> | string): Observed =>
  observe(declared([declaredTool(name, change)]))[0] as Observed;

/** The whole of what a backend declares, to be reviewed. */
export const review = (observed: readonly Observed[], policy: Policy): CatalogCommand => ({
  type: 'Review',
  observed,
  all: new Set(observed.map(keyOf)),
  policy,
});
