import {
  type AuthInfo,
  createMcpHandler,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type McpRequestContext,
  type Notification,
  ProtocolError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Catalog } from '../catalog/catalog.js';
import type { PreparedLists } from '../catalog/lists.js';
import { serverInfo } from '../http/server-card.js';
import type { EdgeMetrics } from '../metrics.js';
import {
  type Authenticator,
  type CallOutcome,
  type CallerContext,
  Cancellation,
  type EdgeLog,
  type HttpExchange,
  type ListOptions,
  MODERN,
  type RecordRequest,
  type RunCall,
} from '../seams.js';
import type { Settings } from '../settings.js';
import type { Answers } from './answer.js';
import type { Methods } from '../methods/methods.js';
import { Relay } from '../methods/relay.js';
import { type Method, METHODS } from '../methods/types.js';
import { callList, callMeta, clientSaid, listFault, listOptions, traceIdOf } from './call-meta.js';
import { META, type ModernRequest, RPC, type RpcFault } from './envelope.js';
import { acceptsStream } from './fast-lane.js';
import { instructionsText } from './instructions.js';
import { known, type Watched, watchFor } from './watch.js';
import { callFault } from './param-headers.js';

export interface SdkLaneOptions extends Watched {
  settings: Settings;
  catalog: Catalog;
  lists: PreparedLists;
  runCall: RunCall;
  methods: Pick<Methods, 'serve' | 'toolPage' | 'knows' | 'view' | 'attribution'>;
  answers: Answers;
  authenticator: Authenticator;
  recordRequest: RecordRequest;
  metrics: EdgeMetrics;
  log: EdgeLog;
}

const LIST_TTL_MS = 60_000;
const MAX_LISTENS = 1024;
const MAX_LISTENS_PER_CALLER = 20;
const MAX_TIMER_MS = 2_147_483_647;

/** What one request's server needs and its answer leaves behind; travels in the SDK's own pass-through. */
interface Passage {
  exchange: HttpExchange;
  request: ModernRequest;
  /** Set when a request ended in an error that has an HTTP status of its own. */
  refused?: Pick<Extract<CallOutcome, { kind: 'error' }>, 'status' | 'required_scopes'>;
  /** JSON-RPC code of the error that a handler threw. */
  code?: number;
}

/**
 * Everything of the modern era that is not on the fast lane, by the SDK's own entry: a low-level server per request, never kept for another
 * caller. `tools/call` and `tools/list` work here too; the tests send every request both ways and want equal answers.
 */
export class SdkLane {
  readonly #handler: McpHttpHandler;
  readonly #listens = new Map<string, number>();
  readonly #open = new Set<McpHttpHandler>();

  constructor(private readonly options: SdkLaneOptions) {
    this.#handler = createMcpHandler((context) => this.#server(context), this.#handlerOptions());
  }

  async serve(exchange: HttpExchange, request: ModernRequest): Promise<void> {
    if (request.method === 'subscriptions/listen') return this.#listen(exchange, request);
    const passage: Passage = { exchange, request };
    const fault = this.#fault(exchange, request);
    if (fault !== undefined) {
      this.options.answers.rpcError(exchange, fault.status, request.id, fault);
      passage.code = fault.code;
      return this.#record(passage, fault.status, 0);
    }
    const aborted = new AbortController();
    exchange.res.on('close', () => exchange.res.writableEnded || aborted.abort());
    const response = await this.#handler.fetch(webRequest(exchange, request, aborted.signal), {
      parsedBody: message(request),
      authInfo: authInfo(passage),
    });
    const bytes = await this.#forward(exchange, response, passage);
    // A tool call has its own record.
    if (request.method !== 'tools/call') this.#record(passage, response.status, bytes);
  }

  #fault({ headers, req }: HttpExchange, request: ModernRequest): RpcFault | undefined {
    if (request.method === 'tools/call') return callFault(this.options.catalog, request, headers);
    return request.method === 'tools/list' ? listFault(listOptions(headers, req.url), request.id) : undefined;
  }

  /** Ends every open subscription with its closing result. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#open].map((handler) => handler.close()));
    await this.#handler.close();
  }

  async #listen(exchange: HttpExchange, request: ModernRequest): Promise<void> {
    const { answers, metrics } = this.options;
    const { caller } = exchange;
    const passage: Passage = { exchange, request };
    if (!acceptsStream(exchange)) {
      answers.rpcError(exchange, 406, undefined, {
        code: 406,
        message: 'subscriptions/listen needs Accept: text/event-stream',
      });
      return;
    }
    const mine = this.#listens.get(caller.caller_hash) ?? 0;
    if (mine >= MAX_LISTENS_PER_CALLER || this.#open.size >= MAX_LISTENS) {
      const error = { code: RPC.internal, message: 'Subscription limit reached' };
      answers.rpcError(exchange, 200, request.id, error);
      passage.code = error.code;
      this.#record(passage, 200, 0);
      return;
    }
    // Each stream has a bus of its own that knows the caller: only what this caller can see has changed is told.
    const bus = new InMemoryServerEventBus();
    const handler = createMcpHandler((context) => this.#server(context), {
      ...this.#handlerOptions(),
      bus,
      maxSubscriptions: 1,
    });
    this.#listens.set(caller.caller_hash, mine + 1);
    this.#open.add(handler);
    metrics.streams.inc({ kind: 'listen' });
    const stopWatching = watchFor(caller, this.options, (event) => bus.publish(event));
    const expiry = this.#endAtExpiry(caller, handler);
    const aborted = new AbortController();
    exchange.res.on('close', () => aborted.abort());
    try {
      const response = await handler.fetch(webRequest(exchange, request, aborted.signal), {
        parsedBody: message(known(request, (uri) => this.options.methods.knows(uri, caller))),
        authInfo: authInfo(passage),
      });
      this.#record(passage, response.status, 0);
      await this.#forward(exchange, response, passage);
    } finally {
      stopWatching();
      clearTimeout(expiry);
      this.#open.delete(handler);
      metrics.streams.dec({ kind: 'listen' });
      const left = (this.#listens.get(caller.caller_hash) ?? 1) - 1;
      if (left > 0) this.#listens.set(caller.caller_hash, left);
      else this.#listens.delete(caller.caller_hash);
      await handler.close();
    }
  }

  #endAtExpiry(caller: CallerContext, handler: McpHttpHandler): NodeJS.Timeout | undefined {
    const left = (caller.exp + this.options.settings.OAUTH_CLOCK_SKEW_SECONDS) * 1000 - Date.now();
    if (left > MAX_TIMER_MS) return undefined;
    return setTimeout(() => void handler.close(), Math.max(0, left)).unref();
  }

  #handlerOptions() {
    const { settings, log } = this.options;
    return {
      legacy: 'reject' as const,
      keepAliveMs: settings.CORTEX_SSE_KEEPALIVE_MS,
      onerror: (error: Error) => log.debug({ error: error.message }, 'a request was refused by the SDK'),
    };
  }

  #server(context: McpRequestContext): Server {
    const { settings, catalog, lists, methods, federation } = this.options;
    const passage = context.authInfo?.extra?.['passage'] as Passage;
    const { exchange } = passage;
    const { name, version } = serverInfo(settings);
    const hint = { ttlMs: catalog.complete ? LIST_TTL_MS : 1_000, cacheScope: 'private' as const };
    const server = new Server(
      { name, version },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          logging: {},
          completions: {},
        },
        instructions: instructionsText(name, catalog, federation),
        cacheHints: {
          'server/discover': { ttlMs: LIST_TTL_MS, cacheScope: 'private' },
          'tools/list': hint,
          'prompts/list': hint,
          'resources/list': hint,
          'resources/templates/list': hint,
        },
      },
    );
    const refuse = (code: number, text: string, data?: unknown): never => {
      passage.code = code;
      throw new ProtocolError(code, text, data);
    };
    server.setRequestHandler('tools/list', () => {
      const list = lists.get(exchange.caller, MODERN, listed(passage));
      const page = methods.toolPage(list, exchange.caller, passage.request.params['cursor']);
      if ('kind' in page) return refuse(page.code, page.message);
      return JSON.parse(page.toString('utf8')) as { tools: [] };
    });
    for (const method of METHODS)
      server.setRequestHandler(method, (_request, ctx) => this.#method(passage, method, ctx) as never);
    server.setRequestHandler('tools/call', (_request, ctx) => this.#call(passage, ctx));
    return server;
  }

  /** Parameters are read as received: the SDK's own reading of them may leave members out. */
  async #method(passage: Passage, method: Method, ctx: ServerContext): Promise<object> {
    const { exchange, request } = passage;
    const relay = relayOf(passage, ctx);
    const outcome = await this.options.methods.serve({
      method,
      caller: exchange.caller,
      params: request.params,
      meta: callMeta(request.meta, exchange.headers),
      client: clientSaid(request),
      era: 'modern',
      revision: MODERN,
      list: listOptions(exchange.headers, exchange.req.url),
      cancel: cancellationOf(ctx),
      events: relay,
      requestId: exchange.request_id,
    });
    relay?.end();
    if (outcome.kind === 'error') {
      passage.refused = outcome;
      passage.code = outcome.code;
      throw new ProtocolError(outcome.code, outcome.message, outcome.data);
    }
    return outcome.kind === 'input_required' ? { resultType: 'input_required', ...outcome.value } : outcome.value;
  }

  async #call(passage: Passage, ctx: ServerContext) {
    const { exchange, request } = passage;
    const relay = relayOf(passage, ctx);
    const outcome = await this.options.runCall({
      caller: exchange.caller,
      // As received: the SDK's own reading of the parameters may leave members out.
      name: String(request.params['name']),
      args: request.params['arguments'],
      ...callList(request.params['name'], () => listed(passage)),
      era: 'modern',
      revision: MODERN,
      transport: 'http',
      meta: callMeta(request.meta, exchange.headers),
      client: clientSaid(request),
      ...(relay && { events: relay }),
      cancel: cancellationOf(ctx),
      rpc_id: request.id,
      origin: exchange.headers.origin,
      request_id: exchange.request_id,
    });
    relay?.end();
    if (outcome.kind === 'error') {
      passage.refused = outcome;
      throw new ProtocolError(outcome.code, outcome.message, outcome.data);
    }
    const { members, is_error, meta, result_type } = outcome;
    const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
    const result = JSON.parse(`{${text}}`) as { content: [] };
    return {
      ...result,
      ...(is_error && { isError: true }),
      ...(result_type !== undefined && { resultType: result_type }),
      ...(meta !== undefined && { _meta: meta }),
    };
  }

  async #forward(exchange: HttpExchange, response: Response, passage: Passage): Promise<number> {
    const { answers, authenticator } = this.options;
    if (response.headers.get('content-type')?.includes('text/event-stream') !== true || response.body === null) {
      const body = await response.text();
      const { refused } = passage;
      const status = refused?.status ?? response.status;
      const challenge =
        status === 403 && refused?.required_scopes !== undefined
          ? authenticator.scopeChallenge(exchange.req, refused.required_scopes)
          : undefined;
      if (body === '') answers.empty(exchange, status);
      else answers.json(exchange, status, body, challenge && { ...challenge });
      return Buffer.byteLength(body);
    }
    answers.openStream(exchange);
    let bytes = 0;
    for await (const chunk of response.body) {
      if (exchange.res.destroyed) break;
      bytes += chunk.length;
      // A slow reader must not make us hold what it does not take.
      if (!exchange.res.write(chunk)) await drained(exchange);
    }
    exchange.res.end();
    return bytes;
  }

  #record({ exchange, request, code }: Passage, status: number, bytes: number): void {
    const failed = code !== undefined || status >= 400;
    this.options.recordRequest(exchange, {
      method: request.method,
      era: 'modern',
      protocol_version: MODERN,
      params: request.params,
      trace_id: traceIdOf(request.meta, exchange.headers),
      ...this.options.methods.attribution(request),
      outcome: failed ? 'failed' : 'succeeded',
      ...(failed && { error_code: String(code ?? status) }),
      result_bytes: bytes,
    });
  }
}

const cancellationOf = ({ mcpReq }: ServerContext): Cancellation => {
  const cancel = new Cancellation();
  mcpReq.signal.addEventListener('abort', () => cancel.cancel(), { once: true });
  return cancel;
};

/** What a backend says meanwhile, on the way of the answer; the SDK makes a stream of it with the first message. */
const relayOf = ({ exchange, request }: Passage, { mcpReq }: ServerContext): Relay | undefined =>
  acceptsStream(exchange)
    ? Relay.wanted({
        meta: callMeta(request.meta, exchange.headers),
        client: clientSaid(request),
        // It fails where the client is gone.
        send: (message) => void mcpReq.notify(JSON.parse(message) as Notification).catch(() => undefined),
      })
    : undefined;

/** What the SDK is shown in place of parameters that are ours to judge: it would do so first, in words of its own. */
const SHOWN: Readonly<Record<string, { name?: string; uri?: string; ref?: object; argument?: object }>> = {
  'tools/list': {},
  'prompts/list': {},
  'prompts/get': { name: 'as received' },
  'resources/list': {},
  'resources/templates/list': {},
  'resources/read': { uri: 'as:received' },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'as received' }, argument: { name: '', value: '' } },
};

const message = ({ id, method, params }: ModernRequest) => {
  const shown = method === 'tools/call' ? { ...params, arguments: {} } : (SHOWN[method] ?? params);
  return { jsonrpc: '2.0', id, method, params: { ...shown, _meta: params['_meta'] } };
};

const authInfo = (passage: Passage): AuthInfo => ({
  token: '',
  clientId: passage.exchange.caller.client_id,
  scopes: [...passage.exchange.caller.scopes],
  extra: { passage },
});

/** Only what the entry reads; the token stays out of it. */
function webRequest({ headers }: HttpExchange, { method }: ModernRequest, signal: AbortSignal): Request {
  const copied = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
  const fields: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  for (const name of copied) if (typeof headers[name] === 'string') fields[name] = headers[name];
  // The one that was sent was held against the body before; this one is held against what is shown.
  const { name, uri = name } = SHOWN[method] ?? {};
  if (uri !== undefined) fields['mcp-name'] = uri;
  return new Request('http://localhost/mcp', { method: 'POST', headers: fields, signal });
}

const listed = ({ exchange, request }: Passage): ListOptions =>
  listOptions(exchange.headers, exchange.req.url, request.meta[META.clientInfo]);

const drained = ({ res }: HttpExchange): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
