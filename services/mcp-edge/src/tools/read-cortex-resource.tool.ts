import { CortexError, notFound } from '@cortex/contracts';
import { type ContentBlock, defineTool, result, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import type { RpcError } from '../federation/failures.js';
import type { MethodFault, MethodOutcome } from '../methods/types.js';
import { edgeScope } from '../edge-scope.js';
import { Cancellation } from '../seams.js';

/** The longest stream of a backend is shorter. */
const DEADLINE_MS = 600_000;

/**
 * Reads a resource for clients that cannot. Events: none. Errors: not_found (uri); a missing scope and what a backend refuses are errors of
 * JSON-RPC, as for resources/read. Source: gateway, section 16.6.
 */
export const readCortexResource = defineTool({
  name: 'read_cortex_resource',
  title: 'Read a resource',
  description:
    'Reads one resource by its uri: text comes as text, anything else as an embedded resource. Find uris with ' +
    'list_cortex_resources; cortex://architecture tells how this server is built and how it stands. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  builtin: true,
  untrusted: true,
  deadlineMs: DEADLINE_MS,
  input: z.object({
    uri: z.string().min(1).max(8192).describe('Such as cortex://architecture; at most 8192 characters'),
  }),
  output: z.object({
    contents: z
      .array(
        z.looseObject({
          uri: z.string(),
          mimeType: z.string().optional(),
          text: z.string().optional(),
          blob: z.string().optional().describe('Base64'),
        }),
      )
      .describe('As resources/read gives them'),
  }),
  async handle({ uri }, ctx) {
    const outcome = await read(uri, ctx);
    if (outcome.kind === 'error') throw errorOf(outcome);
    if (outcome.kind === 'input_required') {
      edgeScope(ctx).questions = outcome.value;
      return { contents: [] };
    }
    const { contents, _meta: meta } = outcome.value as { contents: Part[]; _meta?: Record<string, unknown> };
    return result({ contents }, { content: blocksOf(contents), ...(meta && { meta }) });
  },
});

type Part = {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  [more: string]: unknown;
};

/** The very request of `resources/read`, so that the same rules hold. */
async function read(uri: string, ctx: ToolContext): Promise<MethodOutcome> {
  const { caller, input, methods, traceparent } = edgeScope(ctx);
  const { era, revision, client = {}, events, meta, list = {} } = input;
  const cancel = new Cancellation();
  const gone = (): void => cancel.cancel();
  ctx.signal.addEventListener('abort', gone);
  try {
    return await methods.serve({
      method: 'resources/read',
      params: { uri },
      caller,
      era,
      revision,
      client,
      list,
      cancel,
      events,
      meta: { ...meta, traceparent },
      requestId: ctx.call_id,
    });
  } finally {
    ctx.signal.removeEventListener('abort', gone);
  }
}

function errorOf({ code, message, data, status, required_scopes, error }: MethodFault): CortexError {
  // A model can do something about it, so it is told as the result of its call.
  if (error.kind === 'not_found')
    return notFound('uri', 'is no resource that you can read', 'see list_cortex_resources');
  const rpc: RpcError = { code, message, status, ...(required_scopes && { required_scopes }) };
  if (data !== undefined) rpc.data = data;
  const { kind, reason } = error;
  return new CortexError(kind, undefined, message, '', { ...(reason && { reason }), details: { rpc } });
}

/** Texts in one block with a blank line between them; anything else as it is, embedded. */
function blocksOf(contents: readonly Part[]): ContentBlock[] {
  const texts = contents.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const others = contents.filter(({ text }) => text === undefined);
  return [
    ...(texts.length > 0 ? [{ type: 'text' as const, text: texts.join('\n\n') }] : []),
    ...others.map((resource) => ({ type: 'resource' as const, resource })),
  ];
}
