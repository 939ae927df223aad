import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  failedPrecondition,
  invalidArgument,
  isCortexError,
  resourceExhausted,
  type WireError,
} from '@cortex/contracts';
import { isObject } from '@cortex/contracts/is-object';
import { FailureLimiter } from '../auth/failure-limiter.js';
import { assertAtHome } from '../calls/gates/workspace.gate.js';
import { randomHex16 } from '../calls/ids.js';
import type { Records } from '../calls/records.js';
import { outcomeOf, publicError } from '../calls/refusals.js';
import type { GateViews } from '../guard/views.js';
import { answerBroken } from '../http/broken-request.js';
import { hostName } from '../http/host.js';
import { pathOf } from '../http/routes.js';
import { callMeta } from '../mcp/call-meta.js';
import { Answers } from '../mcp/answer.js';
import { dropRest, readMessage } from '../mcp/read-message.js';
import type { EdgeMetrics } from '../metrics.js';
import type { RateLimiter } from '../ratelimit/rate-limiter.js';
import { type CallerContext, Cancellation, type EdgeLog, HttpRefusal } from '../seams.js';
import { isLoopback, type Settings } from '../settings.js';
import { refused, type Reply, transportFault } from './reply.js';
import { type OpenRoute, type Route, ROUTES, type RouteWorld, type TokenRoute } from './routes.js';
import type { Requester, WebhookAuthenticator } from './webhook-authenticator.js';

export interface WebhookListenerOptions extends RouteWorld {
  settings: Settings;
  authenticator: WebhookAuthenticator;
  limiter: RateLimiter;
  views: Pick<GateViews, 'fresh' | 'workspace'>;
  records: Records;
  metrics: EdgeMetrics;
  log: EdgeLog;
}

/** Agents, hooks and jobs of this machine reach it, and nobody else. */
const HOST = '127.0.0.1';
const KEEP_ALIVE_MS = 65_000;
/** For headers and body to arrive. How long the answer may take is the business of the call: up to 30 min 30 s. */
const ARRIVAL_MS = 60_000;
const TOKEN = 'x-cortex-token';
const NO_STORE = { 'Cache-Control': 'no-store' };

const FOREIGN_HOST = transportFault(403, 'permission_denied', 'Host is no loopback name; use 127.0.0.1');
const FROM_A_PAGE = transportFault(403, 'permission_denied', 'Origin is set; this listener is not for web pages');
const ALL_ROUTES = Object.keys(ROUTES).join(', ');
const NO_ROUTE = transportFault(404, 'not_found', `path is no route of this listener; use one of ${ALL_ROUTES}`);
const NOT_JSON = transportFault(415, 'invalid_argument', 'Content-Type is not application/json; send it as that');
const NO_TOKEN = new HttpRefusal(401, '', {}, 'missing');
const TOKEN_MISSING = transportFault(
  401,
  'unauthenticated',
  `${TOKEN} is missing; send the token of your session in it`,
);
const TOKEN_REFUSED = transportFault(
  401,
  'unauthenticated',
  `${TOKEN} is not accepted; get a fresh one with cortex session token`,
);
const SHUTTING_DOWN = transportFault(503, 'unavailable', 'Cortex is stopping; try again in a moment', {
  'Retry-After': '1',
  Connection: 'close',
});

/**
 * The loopback listener (agent-server, section 18): who may speak at all, the body, the route, the envelope. Everything below a route's own
 * work happens here once for all of them.
 */
export class WebhookListener {
  /** Set by a stop: requests under way end, new ones are sent away. */
  draining = false;
  #active = 0;
  readonly #failures: FailureLimiter;
  readonly #server: Server;
  readonly #answers: Answers;

  constructor(private readonly options: WebhookListenerOptions) {
    // No page may read an answer, so there is none with CORS headers.
    this.#failures = new FailureLimiter(options.settings.CORTEX_AUTH_FAIL_LIMIT_PER_MINUTE);
    this.#answers = new Answers(options.settings, { corsHeaders: () => [] });
    this.#server = createServer(
      { keepAliveTimeout: KEEP_ALIVE_MS, headersTimeout: ARRIVAL_MS, requestTimeout: ARRIVAL_MS },
      (req, res) => void this.#serve(req, res),
    ).on('clientError', answerBroken);
  }

  get active(): number {
    return this.#active;
  }

  /** Where it listens; 0 before it does. */
  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** For `/ready`. */
  get problem(): string | null {
    return this.#server.listening ? null : 'the loopback listener is not open';
  }

  /** Errors: failed_precondition (WEBHOOK_PORT). */
  listen(): Promise<void> {
    const { WEBHOOK_PORT: port } = this.options.settings;
    return new Promise((resolve, reject) => {
      const failed = (cause: NodeJS.ErrnoException): void => {
        const problem = cause.code === 'EADDRINUSE' ? `${port} is taken` : `${port} cannot be opened (${cause.code})`;
        reject(failedPrecondition('WEBHOOK_PORT', problem, 'set another one', { cause }));
      };
      this.#server.once('error', failed).listen(port, HOST, () => {
        this.#server.off('error', failed);
        resolve();
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    this.#active++;
    try {
      const { status, body, headers } = await this.#reply(req, res);
      // Refused unread: its client may look for the answer only when all of the body is out.
      if (!req.readableDidRead) dropRest(req);
      this.#answers.json({ req, res }, status, JSON.stringify(body), { ...NO_STORE, ...headers });
    } catch (error) {
      // The client went away in the middle of its body, or an answer could not be written: nobody is there to be told.
      this.options.log.debug({ error, path: pathOf(req.url) }, 'a loopback request has no answer');
      res.destroy();
    } finally {
      this.#active--;
    }
  }

  #reply(req: IncomingMessage, res: ServerResponse): Reply | Promise<Reply> {
    // A page in a browser reaches loopback too, and by rebinding with any name (threat T07).
    if (!isLoopback(hostName(req.headers.host) ?? '')) return FOREIGN_HOST;
    if (req.headers.origin !== undefined) return FROM_A_PAGE;
    const path = pathOf(req.url);
    const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
    if (route === undefined) return NO_ROUTE;
    if (req.method !== route.method)
      return transportFault(405, 'invalid_argument', `method is not ${route.method}; use it`, { Allow: route.method });
    if (this.draining) return SHUTTING_DOWN;
    if (route.method === 'POST' && !isJson(req.headers['content-type'])) return NOT_JSON;
    return route.door === 'open' ? this.#open(route, req) : this.#withToken(route, path, req, res);
  }

  async #open(route: OpenRoute, req: IncomingMessage): Promise<Reply> {
    const read = await readBody(route, req);
    if (!('fault' in read)) return route.serve(read.message, this.options);
    return { status: read.status, body: { error: read.fault } };
  }

  async #withToken(route: TokenRoute, path: string, req: IncomingMessage, res: ServerResponse): Promise<Reply> {
    const { authenticator, limiter, log } = this.options;
    const started = performance.now();
    const request_id = randomHex16();
    const token = req.headers[TOKEN];
    const requester = typeof token === 'string' && token !== '' ? await authenticator.identify(token) : NO_TOKEN;
    if (requester instanceof HttpRefusal) return this.#notAdmitted(requester, request_id);
    const read = await readBody(route, req);
    if ('fault' in read) return transportFault(read.status, 'invalid_argument', read.fault);
    const cancel = new Cancellation();
    res.on('close', () => res.writableEnded || cancel.cancel());
    const exchange = { caller: authenticator.alone(requester), started, request_id, headers: req.headers };
    try {
      const { sessionId, ...body } = read.message;
      const caller = (exchange.caller = await this.#callerOf(route, requester, sessionId ?? undefined));
      const limited = await limiter.take(caller);
      if (limited !== undefined) throw rateLimited(limited);
      // Of a call its gates ask that.
      if (!route.isCall) await assertAtHome(caller, this.options.views);
      const meta = callMeta(undefined, req.headers);
      const reply = await route.serve({ caller, body, meta, cancel, request_id }, this.options);
      if (!route.isCall) this.#note(exchange, route, path, read.message);
      return reply;
    } catch (error) {
      if (!isCortexError(error)) log.error({ error, path, request_id }, 'a loopback request broke the edge');
      const fault = publicError(error, request_id);
      this.#note(exchange, route, path, read.message, fault);
      return refused(fault);
    }
  }

  #callerOf(route: TokenRoute, requester: Requester, sessionId: unknown): CallerContext | Promise<CallerContext> {
    const { authenticator } = this.options;
    if (sessionId === undefined) {
      if (requester === 'system' && route.session !== 'optional')
        throw invalidArgument('sessionId', 'is missing', 'name the session');
      return authenticator.alone(requester);
    }
    if (typeof sessionId !== 'string' || sessionId === '')
      throw invalidArgument('sessionId', 'is no text', 'name a session');
    return route.session === 'known'
      ? authenticator.about(requester, sessionId)
      : authenticator.inSession(requester, sessionId);
  }

  /** A request that is no tool call, or did not come to be one. */
  #note(
    exchange: Parameters<Records['request']>[0],
    route: TokenRoute,
    path: string,
    params: unknown,
    error?: WireError,
  ): void {
    this.options.records.request(exchange, {
      method: `${route.method} ${path}`,
      era: 'modern',
      transport: 'loopback',
      params,
      outcome: error === undefined ? 'succeeded' : outcomeOf(error),
      ...(error !== undefined && { error }),
      result_bytes: 0,
    });
  }

  #notAdmitted({ status, auth_reason, headers }: HttpRefusal, request_id: string): Reply {
    if (status !== 401)
      return transportFault(503, 'unavailable', 'tokens cannot be checked now; try again in a moment', { ...headers });
    const { records, metrics } = this.options;
    const reason = auth_reason ?? 'invalid';
    metrics.authFailures.inc({ reason });
    // All of loopback is one address: a flood is kept out of the log, and nobody else is kept out for it.
    if (this.#failures.wait(HOST) === 0) records.authFailure({ reason, ip: HOST, request_id });
    this.#failures.count(HOST);
    return reason === 'missing' ? TOKEN_MISSING : TOKEN_REFUSED;
  }
}

type Read = { message: Record<string, unknown> } | { fault: string; status: number };

async function readBody({ method, maxBytes }: Route, req: IncomingMessage): Promise<Read> {
  if (method === 'GET') return { message: {} };
  const read = await readMessage(req, maxBytes);
  if ('kind' in read) return { fault: read.message, status: read.status === 413 ? 413 : 400 };
  return isObject(read.message) ? { message: read.message } : { fault: 'The body is no JSON object', status: 400 };
}

const isJson = (type = ''): boolean => type.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';

const rateLimited = ({ headers }: HttpRefusal): Error =>
  resourceExhausted(undefined, 'too many requests in this minute', `wait ${headers['Retry-After']} s`, {
    reason: 'rate_limited',
    details: { retry_after_s: Number(headers['Retry-After']) },
  });
