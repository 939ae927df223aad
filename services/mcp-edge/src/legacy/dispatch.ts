import { isToken, toWireError, type Outcome } from '@cortex/contracts';
import { callMeta, listOptions } from '../mcp/call-meta.js';
import { isObject } from '../mcp/envelope.js';
import type { Cancellation, EdgeCore, HttpExchange, LegacyRevision } from '../seams.js';
import { errorOf, resultOf, type Json, type LegacyRequest, type Reply } from './message.js';

const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Characters of a client's own text that an error gives back. */
const MAX_ECHO = 512;

/** Where a request came from, as far as its answer depends on it. */
export interface Origin {
  exchange: HttpExchange;
  revision: LegacyRevision;
  transport: 'http' | 'sse';
  /** Id of the protocol session; without one the methods that need a session are refused. */
  session?: string;
  setLogLevel?: (level: string) => Promise<void> | void;
}

type Method = (origin: Origin, params: Json, request: LegacyRequest, cancel: Cancellation) => Reply | Promise<Reply>;

export type Dispatch = (origin: Origin, request: LegacyRequest, cancel: Cancellation) => Promise<Reply>;

/** The methods of the legacy revisions but `initialize`, which the transports answer. Source: gateway, section 5.2. */
export function createDispatch(
  core: EdgeCore,
  log: (level: 'error', message: string, fields: Record<string, unknown>) => void,
): Dispatch {
  const noResource = (uri: unknown): Reply =>
    typeof uri === 'string'
      ? errorOf(-32002, 'Resource not found', { uri: uri.slice(0, MAX_ECHO) })
      : errorOf(-32602, 'params.uri is missing; name the resource');
  const noPrompt = (name: unknown): Reply =>
    typeof name === 'string'
      ? errorOf(-32602, `Unknown prompt: ${name.slice(0, MAX_ECHO)}`)
      : errorOf(-32602, 'params.name is missing; name the prompt');
  /** Everything fits on one page, so no cursor was ever given out. */
  const page = (params: Json, list: () => Reply): Reply =>
    params.cursor === undefined ? list() : errorOf(-32602, 'Invalid cursor');
  const inSession =
    (method: Method): Method =>
    (origin, ...rest) =>
      origin.session === undefined ? errorOf(-32600, 'Session required') : method(origin, ...rest);

  const methods: Readonly<Record<string, Method>> = {
    ping: () => resultOf({}),
    'tools/list': ({ exchange, revision }, params) =>
      page(params, () => ({ result: core.listTools(exchange.caller, revision, listOptions(exchange.headers)) })),
    'tools/call': callTool,
    'prompts/list': (_, params) => page(params, () => resultOf({ prompts: [] })),
    'prompts/get': (_, { name }) => noPrompt(name),
    'resources/list': (_, params) => page(params, () => resultOf({ resources: [] })),
    'resources/templates/list': (_, params) => page(params, () => resultOf({ resourceTemplates: [] })),
    'resources/read': (_, { uri }) => noResource(uri),
    'resources/subscribe': inSession((_, { uri }) => noResource(uri)),
    'resources/unsubscribe': inSession((_, { uri }) => (typeof uri === 'string' ? resultOf({}) : noResource(uri))),
    'logging/setLevel': inSession(async ({ setLogLevel }, { level }) => {
      if (typeof level !== 'string' || !LOG_LEVELS.includes(level)) {
        return errorOf(-32602, `params.level is no log level; use one of ${LOG_LEVELS.join(', ')}`);
      }
      await setLogLevel?.(level);
      return resultOf({});
    }),
    'completion/complete': (_, { ref }) => {
      if (!isObject(ref)) return errorOf(-32602, 'params.ref is missing; name a prompt or a resource');
      if (ref.type === 'ref/prompt') return noPrompt(ref.name);
      return errorOf(-32602, 'params.ref names nothing that can be completed');
    },
  };

  async function callTool(origin: Origin, params: Json, { id }: LegacyRequest, cancel: Cancellation): Promise<Reply> {
    if (typeof params.name !== 'string') return errorOf(-32602, 'params.name is missing; name the tool');
    const { exchange, revision, transport, session } = origin;
    const outcome = await core.runCall({
      caller: exchange.caller,
      name: params.name,
      args: params.arguments,
      era: 'legacy',
      revision,
      transport,
      meta: callMeta(params._meta, exchange.headers),
      cancel,
      rpc_id: id,
      ...(exchange.headers.origin !== undefined && { origin: exchange.headers.origin }),
      ...(session !== undefined && { mcp_session_id: session }),
    });
    if (outcome.kind === 'result') return { result: core.renderResult(outcome, revision) };
    const { code, message, data, status, required_scopes } = outcome;
    return {
      error: { code, message, ...(data !== undefined && { data }) },
      status,
      ...(required_scopes && { required_scopes }),
    };
  }

  function record(origin: Origin, { method, params }: LegacyRequest, reply: Reply): void {
    // A tool call has its own records, but for one that names no tool.
    if (method === 'tools/call' && typeof params.name === 'string') return;
    const { exchange, revision, transport, session } = origin;
    const failed = 'error' in reply;
    const outcome: Outcome = failed ? 'failed' : 'succeeded';
    core.recordRequest(exchange, {
      method: Object.hasOwn(methods, method) ? method : 'unknown',
      era: 'legacy',
      params,
      outcome,
      ...(failed && { error_code: String(reply.error.code) }),
      protocol_version: revision,
      ...(session !== undefined && isToken(session) && { mcp_session_id: session }),
      transport,
      result_bytes: failed ? 0 : reply.result.length,
      ...(method === 'tools/list' && { tools_listed: core.catalog.visible(exchange.caller).length }),
    });
  }

  return async (origin, request, cancel) => {
    const { method, params } = request;
    let reply: Reply;
    try {
      reply = Object.hasOwn(methods, method)
        ? await (methods[method] as Method)(origin, params, request, cancel)
        : errorOf(-32601, `Unknown method: ${method.slice(0, MAX_ECHO)}`);
    } catch (error) {
      log('error', 'a legacy request failed', { method: method.slice(0, MAX_ECHO), error });
      reply = errorOf(-32603, toWireError(error, origin.exchange.request_id).message);
    }
    record(origin, request, reply);
    return reply;
  };
}
