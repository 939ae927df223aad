import { type AnnouncedTool } from '@cortex/contracts';
import type { Arguments } from '@cortex/service-kit/arguments';
import type { EdgeTool } from '../catalog/edge-tool.js';
import { firstSentence } from '../catalog/first-sentence.js';
import { paramHeadersOf } from '../mcp/param-headers.js';
import { membersOf } from './json-text.js';
import { isWrapped } from './schemas/wrap-output.js';
import type { FederatedTool } from './types.js';

/** Members of a declaration that are said in other words or are not for clients. */
const NOT_PASSED_ON = new Set([
  'name',
  'description',
  'title',
  'inputSchema',
  'outputSchema',
  'params',
  'scope',
  'version',
  'deprecated',
  'task',
  'timeoutMs',
  '_meta',
]);
/** Behind every own tool. Among themselves they come sorted. */
const FEDERATED_BLOCK = 3;

/** A backend checks the arguments of its tools itself, so they are sent as they came. */
const UNTOUCHED: Arguments = { check: (args) => args };
const NO_FIELDS: ReadonlySet<string> = new Set();

export interface ListingExtras {
  /** Exposed name of the tool that takes the place of a deprecated one. */
  readonly replacement: string | undefined;
  /** Milliseconds of the longest stream: no call is under way for longer. */
  readonly longestMs: number;
}

/** A tool of a backend as the edge keeps its own ones: everything that lists and calls need is worked out here, once per definition. */
export function federatedEdgeTool(tool: FederatedTool, { replacement, longestMs }: ListingExtras): EdgeTool {
  const { backend, exposed, annotations = {}, requiredScopes } = tool;
  const description = described(tool, replacement);
  const readOnly = annotations['readOnlyHint'] === true;
  const announced: AnnouncedTool = {
    name: exposed,
    title: titleOf(tool) ?? exposed,
    description,
    tier: readOnly ? 'read' : 'write',
    actions: [...backend.actions],
    workspace: 'none',
    session: false,
    approval: false,
    scopes: [...requiredScopes],
    builtin: false,
    untrusted: true,
    // A call that streams goes on while it says something.
    deadline_ms: Math.max(longestMs, tool.timeoutMs ?? backend.timeoutMs),
    input_schema: tool.inputSchema,
    output_schema: tool.outputSchema ?? {},
  };
  const paramHeaders = paramHeadersOf(tool.inputSchema);
  return {
    name: exposed,
    service: 'mcp-edge',
    announced,
    required_scopes: requiredScopes,
    live: true,
    block: 'federated',
    shelf: backend.id,
    subject: '',
    arguments: UNTOUCHED,
    paramHeaders: Array.isArray(paramHeaders) ? paramHeaders : [],
    fields: NO_FIELDS,
    local: undefined,
    federated: tool,
    order: [FEDERATED_BLOCK, backend.order, 0, 0],
    listing: listingOf(tool, description),
  };
}

/** Joined from the texts of the backend, so that what it wrote reaches the client as it wrote it. */
function listingOf(tool: FederatedTool, description: string): EdgeTool['listing'] {
  const { exposed, schemaTexts, raw } = tool;
  const meta = `,"_meta":${metaOf(tool)}`;
  const title = titleOf(tool);
  const head = `{"name":${JSON.stringify(exposed)}${title === undefined ? '' : `,"title":${JSON.stringify(title)}`},"description":${JSON.stringify(description)}`;
  let rest = '';
  for (const [key, json] of raw) if (!NOT_PASSED_ON.has(key)) rest += `,${JSON.stringify(key)}:${json}`;
  const line = `[${tool.backend.id}] ${firstSentence(tool.description)}`;
  const short = { name: exposed, description: line, inputSchema: { type: 'object' } };
  const write = (input: string, output: string | undefined): string =>
    `${head},"inputSchema":${input}${output === undefined ? '' : `,"outputSchema":${output}`}${rest}${meta}}`;
  const schemas = { input: schemaTexts.input, output: schemaTexts.output };
  return {
    full: write(schemas.input, schemas.output),
    short: `${JSON.stringify(short).slice(0, -1)}${meta}}`,
    schemas,
    wraps: tool.outputSchema !== undefined && isWrapped(tool.outputSchema),
    write,
  };
}

/** A declared title is never touched; a name that had to be changed stands in its place where there is none. */
function titleOf({ title, annotations, original, exposed, backend }: FederatedTool): string | undefined {
  if (title !== undefined || typeof annotations?.['title'] === 'string') return title;
  return exposed === backend.prefix + original ? undefined : original;
}

/** Ours and then what the backend declared; of the same key ours. */
function metaOf({ raw, version, backend, deprecated, original, repaired }: FederatedTool): string {
  const own = {
    version,
    app: backend.id,
    deprecated,
    'cortex/name': original,
    'cortex/schema': repaired && { repaired: 'inputSchema has no type; "object" was put in' },
  };
  const text = JSON.stringify(own);
  const declared = [...membersOf(raw.get('_meta') ?? '{}')].filter(([key]) => !(key in own));
  return `${text.slice(0, -1)}${declared.map(([key, json]) => `,${JSON.stringify(key)}:${json}`).join('')}}`;
}

function described({ backend, description, deprecated }: FederatedTool, replacement: string | undefined): string {
  if (deprecated === undefined) return `[${backend.id}] ${description}`;
  const use = replacement === undefined ? '' : `, use ${replacement}`;
  return `[${backend.id}] [DEPRECATED — removal ${deprecated.removedAt}${use}] ${description}`;
}
