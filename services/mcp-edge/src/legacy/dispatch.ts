import { isToken, toWireError, type Outcome } from '@cortex/contracts';
import { callList, callMeta, listFault, listOptions, traceIdOf } from '../mcp/call-meta.js';
import { RPC } from '../mcp/envelope.js';
import { Relay } from '../methods/relay.js';
import { type Method as OtherMethod, METHODS, type MethodFault } from '../methods/types.js';
import type {
  CallMeta,
  CallOutcome,
  Cancellation,
  ClientSaid,
  EdgeCore,
  HttpExchange,
  LegacyRevision,
} from '../seams.js';
import { errorOf, resultOf, type Json, type LegacyRequest, type Reply } from './message.js';
import { type Ask, type Asked, inRounds, NoInput } from './rounds.js';

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
  /** Adds a URI to those of which the session is told changes, or takes it out. */
  subscribe?: (uri: string, wanted: boolean) => Promise<void> | void;
  /** What the client said when its session began; without a session nothing is known of it. */
  client?: ClientSaid;
  /** One message ahead of the answer, where that is a stream. */
  tell?: (message: string) => void;
  /** Puts a question to the client, on the same stream. */
  ask?: Ask;
  /** Ends the connection that the answer would come on; the client asks for it again. */
  closeStream?: () => void;
}

type Method = (origin: Origin, params: Json, request: LegacyRequest, cancel: Cancellation) => Reply | Promise<Reply>;

export type Dispatch = (origin: Origin, request: LegacyRequest, cancel: Cancellation) => Promise<Reply>;

/** The methods of the legacy revisions but `initialize`, which the transports answer. Source: gateway, section 5.2. */
export function createDispatch(
  core: EdgeCore,
  log: (level: 'error', message: string, fields: Record<string, unknown>) => void,
): Dispatch {
  const subscription =
    (wanted: boolean): Method =>
    async ({ exchange, subscribe }, { uri }) => {
      if (typeof uri !== 'string') return errorOf(RPC.invalidParams, 'params.uri is missing; name the resource');
      // What may be forgotten need not be there any more.
      if (wanted && !core.methods.knows(uri, exchange.caller))
        return errorOf(RPC.resourceNotFound, 'Resource not found', { uri: uri.slice(0, MAX_ECHO) });
      await subscribe?.(uri, wanted);
      return resultOf({});
    };
  const inSession =
    (method: Method): Method =>
    (origin, ...rest) =>
      origin.session === undefined ? errorOf(-32600, 'Session required') : method(origin, ...rest);

  const methods: Readonly<Record<string, Method>> = {
    ping: () => resultOf({}),
    'tools/list': ({ exchange, revision, client }, { cursor }) => {
      const options = listOptions(exchange.headers, exchange.req.url, client?.info);
      const unknown = listFault(options);
      if (unknown !== undefined)
        return { ...errorOf(unknown.code, unknown.message, unknown.data), status: unknown.status };
      const list = core.listTools(exchange.caller, revision, options);
      const page = core.methods.toolPage(list, exchange.caller, cursor);
      return 'kind' in page ? errorReply(page) : { result: page };
    },
    'tools/call': callTool,
    ...Object.fromEntries(METHODS.map((method) => [method, otherMethod(method)])),
    'resources/subscribe': inSession(subscription(true)),
    'resources/unsubscribe': inSession(subscription(false)),
    'logging/setLevel': inSession(async ({ setLogLevel }, { level }) => {
      if (typeof level !== 'string' || !LOG_LEVELS.includes(level)) {
        return errorOf(-32602, `params.level is no log level; use one of ${LOG_LEVELS.join(', ')}`);
      }
      await setLogLevel?.(level);
      return resultOf({});
    }),
  };

  async function callTool(origin: Origin, params: Json, { id }: LegacyRequest, cancel: Cancellation): Promise<Reply> {
    if (typeof params.name !== 'string') return errorOf(-32602, 'params.name is missing; name the tool');
    const { name } = params;
    const { exchange, revision, transport, session } = origin;
    const meta = callMeta(params._meta, exchange.headers);
    const relay = relayOf(origin, meta);
    const run = (client: ClientSaid): Promise<CallOutcome> =>
      core.runCall({
        caller: exchange.caller,
        name,
        args: params.arguments,
        ...callList(name, () => listOptions(exchange.headers, exchange.req.url, origin.client?.info)),
        era: 'legacy',
        revision,
        transport,
        meta,
        client,
        cancel,
        rpc_id: id,
        ...(relay && { events: relay }),
        ...(exchange.headers.origin !== undefined && { origin: exchange.headers.origin }),
        ...(session !== undefined && { mcp_session_id: session }),
      });
    try {
      const outcome = await inRounds(origin.client ?? {}, { revision, ask: origin.ask, cancel }, run, askedByCall);
      if (outcome.kind === 'result') return { result: core.renderResult(outcome, revision) };
      if (outcome.code === RPC.missingCapability) return noInput(`${name} needs input that this client cannot give`);
      return errorReply(outcome);
    } catch (error) {
      if (error instanceof NoInput) return noInput(`${name} ${error.message}`);
      throw error;
    } finally {
      relay?.end();
    }
  }

  function otherMethod(method: OtherMethod): Method {
    return async (origin, params, _request, cancel) => {
      const { exchange, revision } = origin;
      const meta = callMeta(params._meta, exchange.headers);
      const relay = relayOf(origin, meta);
      const asked = {
        method,
        caller: exchange.caller,
        params,
        meta,
        era: 'legacy' as const,
        revision,
        list: listOptions(exchange.headers, exchange.req.url),
        cancel,
        events: relay,
        requestId: exchange.request_id,
      };
      const run = (client: ClientSaid) => core.methods.serve({ ...asked, client });
      try {
        const outcome = await inRounds(origin.client ?? {}, { revision, ask: origin.ask, cancel }, run, (one) =>
          one.kind === 'input_required' ? one.value : undefined,
        );
        if (outcome.kind !== 'error') return resultOf(outcome.value);
        if (outcome.code === RPC.missingCapability)
          return errorOf(RPC.internal, 'The request needs input that this client cannot give');
        return errorReply(outcome);
      } catch (error) {
        if (error instanceof NoInput) return errorOf(RPC.internal, `The request ${error.message}`);
        throw error;
      } finally {
        relay?.end();
      }
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
      trace_id: traceIdOf(params['_meta'], exchange.headers),
      ...core.methods.attribution({ method, params }),
      ...(method === 'tools/list' &&
        !failed && { listed: { list: reply.result, options: listOptions(exchange.headers, exchange.req.url) } }),
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

/** Until a session sets a level, every log line is told. */
const relayOf = ({ tell, closeStream, client = {} }: Origin, meta: CallMeta): Relay | undefined =>
  tell && Relay.wanted({ meta, client: { log_level: 'debug', ...client }, send: tell, closeStream });

/** The questions of a call that has no result yet. */
function askedByCall(outcome: CallOutcome): Asked | undefined {
  if (outcome.kind !== 'result' || outcome.result_type !== 'input_required') return undefined;
  const { members } = outcome;
  const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
  return JSON.parse(`{${text}}`) as Asked;
}

const noInput = (text: string): Reply => resultOf({ content: [{ type: 'text', text }], isError: true });

function errorReply(fault: Extract<CallOutcome, { kind: 'error' }> | MethodFault): Reply {
  const { code, message, data, status, required_scopes } = fault;
  return {
    error: { code, message, ...(data !== undefined && { data }) },
    status,
    ...(required_scopes && { required_scopes }),
  };
}
