import { type AnnouncedTool, GROUPS, hintsOf, SCOPES, SERVICES, subjects } from '@cortex/contracts';
import type { Tool } from '@cortex/service-kit';
import { type Arguments, argumentsOf } from '@cortex/service-kit/arguments';
import { z } from 'zod';
import { paramHeadersOf, type ParamHeader } from '../mcp/param-headers.js';
import type { Schemas } from '../federation/schemas/forms.js';
import type { CatalogTool } from '../seams.js';
import { firstSentence } from './first-sentence.js';

/** Which block of `tools/list` a tool stands in. */
export type Block = 'builtin' | 'agent' | 'workspace' | 'federated';

/** A tool made ready once for every call of it: nothing here is worked out again on the way of a call. */
export interface EdgeTool extends CatalogTool {
  readonly block: Block;
  readonly subject: string;
  readonly arguments: Arguments;
  readonly paramHeaders: readonly ParamHeader[];
  /** Takes `workspace_id`, and which identity fields its schema names. */
  readonly fields: ReadonlySet<string>;
  /** Set for the edge's own tools: run here, not over the bus. */
  readonly local: Tool | undefined;
  /** Ascending in `tools/list`. */
  readonly order: readonly [block: number, group: number, service: number, position: number];
  readonly listing: Listing;
}

/** How a definition is shown, as JSON texts. */
export interface Listing {
  /** With the schemas as they were declared. */
  readonly full: string;
  /** In search mode; undefined for what is shown in full there too. */
  readonly short: string | undefined;
  readonly schemas: Schemas;
  /** Its results are no objects, and revisions that want objects get them wrapped. */
  readonly wraps: boolean;
  /** The same definition with other schemas; without an output schema for revisions before 2025-06-18 and in search mode. */
  readonly write: (input: string, output: string | undefined) => string;
}

const BLOCKS: readonly Block[] = ['builtin', 'agent', 'workspace', 'federated'];

/** Throws an Error that says why a tool cannot be offered. */
export function edgeTool(
  announced: AnnouncedTool,
  service: string,
  position: number,
  local?: Tool,
): Omit<EdgeTool, 'live'> {
  const schema = z.fromJSONSchema(announced.input_schema as Parameters<typeof z.fromJSONSchema>[0]);
  if (!(schema instanceof z.ZodObject)) throw new Error('its arguments are no object');
  const paramHeaders = paramHeadersOf(announced.input_schema);
  if (!Array.isArray(paramHeaders)) throw new Error(paramHeaders.invalid);
  const block: Block = announced.builtin ? 'builtin' : announced.group === undefined ? 'workspace' : 'agent';
  const group = announced.group === undefined ? 0 : (GROUPS as readonly string[]).indexOf(announced.group) + 1;
  return {
    name: announced.name,
    service,
    announced,
    required_scopes: requiredScopes(announced),
    block,
    shelf: block,
    subject: subjects.tool(service, announced.name),
    arguments: argumentsOf(schema, 'none'),
    paramHeaders,
    fields: new Set(Object.keys(schema.shape)),
    local,
    federated: undefined,
    order: [BLOCKS.indexOf(block), group, (SERVICES as readonly string[]).indexOf(service), position],
    listing: listingOf(announced, block),
  };
}

export function compareOrder(a: Pick<EdgeTool, 'order'>, b: Pick<EdgeTool, 'order'>): number {
  for (let i = 0; i < a.order.length; i++) {
    const difference = (a.order[i] ?? 0) - (b.order[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Source: architecture, ruling 12. */
const requiredScopes = (tool: AnnouncedTool): string[] =>
  tool.builtin ? [] : [...new Set([tool.tier === 'read' ? SCOPES.read : SCOPES.write, ...tool.scopes])];

function listingOf(tool: AnnouncedTool, block: Block): Listing {
  const { name, title, description, input_schema: inputSchema, output_schema: outputSchema } = tool;
  const head = JSON.stringify({ name, title, description }).slice(0, -1);
  const annotations = JSON.stringify(hintsOf(tool));
  const write = (input: string, output: string | undefined): string =>
    `${head},"inputSchema":${input},"annotations":${annotations}${output === undefined ? '' : `,"outputSchema":${output}`}}`;
  const schemas = { input: JSON.stringify(inputSchema), output: JSON.stringify(outputSchema) };
  const short = { name, description: `[${block}] ${firstSentence(description)}`, inputSchema: { type: 'object' } };
  return {
    full: write(schemas.input, schemas.output),
    short: block === 'builtin' ? undefined : JSON.stringify(short),
    schemas,
    // Announced as objects.
    wraps: false,
    write,
  };
}
