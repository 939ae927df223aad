import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { OpsRoutes } from '@cortex/service-kit';
import type { FastifyInstance } from 'fastify';
import { DOOR, type DoorWorld, type Visit } from '../calls/gates.js';
import { randomHex16 } from '../calls/ids.js';
import type { Records } from '../calls/records.js';
import { sameSecret } from '../auth/same-secret.js';
import { BackendEvents } from '../federation/events.js';
import { AdminRoutes } from '../http/admin.js';
import { isLoopbackPeer } from '../http/client-ip.js';
import { securityHeaders } from '../http/headers.js';
import { canonicalPath } from '../http/metadata.js';
import { PurgeRoute } from '../http/purge-route.js';
import { answerReady, type ReadyWorld } from '../http/ready.js';
import { pathOf, refuseRoute } from '../http/routes.js';
import type { EdgeMetrics } from '../metrics.js';
import {
  type CallerContext,
  type EdgeLog,
  type HttpExchange,
  HttpRefusal,
  type LegacyLayer,
  MODERN,
  type ResourceKind,
} from '../seams.js';
import type { Settings } from '../settings.js';
import type { Answers } from './answer.js';
import { traceIdOf } from './call-meta.js';
import { classify, headerValue, RPC, type RpcFault } from './envelope.js';
import { FastLane } from './fast-lane.js';
import { dropRest, readMessage } from './read-message.js';
import type { SdkLane } from './sdk-lane.js';

export interface McpRouteOptions {
  settings: Settings;
  door: DoorWorld;
  answers: Answers;
  fast: FastLane;
  sdk: SdkLane;
  legacy: LegacyLayer;
  records: Records;
  metrics: EdgeMetrics;
  ops: OpsRoutes;
  ready: ReadyWorld;
  admin: AdminRoutes;
  purge: PurgeRoute;
  backendEvents: BackendEvents;
  log: EdgeLog;
}

/** Sends a request through the SDK's entry although the fast lane would take it; for the tests that compare the two. */
const LANE_HEADER = 'x-cortex-lane';
const SHUTTING_DOWN = new HttpRefusal(503, '{"error":"shutting_down"}', { 'Retry-After': '1', Connection: 'close' });
const NO_METRICS = new HttpRefusal(401, '{"error":"unauthorized"}');

/** One request after the door; the client's address is worked out only where it is asked for. */
class Exchange implements HttpExchange {
  readonly request_id = randomHex16();
  readonly headers: IncomingHttpHeaders;
  constructor(
    readonly req: IncomingMessage,
    readonly res: ServerResponse,
    readonly caller: CallerContext,
    readonly started: number,
    private readonly door: DoorWorld,
  ) {
    this.headers = req.headers;
  }
  get ip(): string {
    return this.door.front.clientIp(this.req);
  }
}

/** The public listener: which route, the door, the era, the lane. */
export class McpRoute {
  /** Set by a stop: requests under way end, new ones are sent elsewhere. */
  draining = false;
  #active = 0;
  readonly #base: readonly string[];
  /** The same endpoint under the path of the canonical URI, for a proxy that hands paths on as they are. */
  readonly #canonicalPath: string;

  constructor(private readonly options: McpRouteOptions) {
    this.#base = securityHeaders(options.settings);
    this.#canonicalPath = canonicalPath(options.settings) || '/';
  }

  /** Requests that are being answered, open streams aside. */
  get active(): number {
    return this.#active;
  }

  /**
   * One hijacked route for everything: Fastify starts and stops the listener, and parses and writes nothing. Its own way to the route (six
   * hooks, a parser that is not used) costs a tenth of a call, so its main listener is answered in front of it; the route serves those that
   * Fastify adds by itself, such as the one for ::1.
   */
  register(fastify: FastifyInstance): void {
    fastify.server.removeAllListeners('request').on('request', (req, res) => void this.serve(req, res));
    void fastify.register((scope, _options, done) => {
      scope.removeAllContentTypeParsers();
      // The body is read by the route itself, once, after the door.
      scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
      scope.route({
        method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
        url: '*',
        handler: (request, reply) => {
          reply.hijack();
          void this.serve(request.raw, reply.raw);
        },
      });
      done();
    });
  }

  /** Answers a request, whatever it is. */
  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { answers, log } = this.options;
    this.#active++;
    try {
      await this.#routed(req, res);
    } catch (error) {
      if (res.destroyed || res.writableEnded) return;
      log.error({ error, path: pathOf(req.url) }, 'a request broke the edge');
      if (res.headersSent) res.destroy();
      else answers.rpcError({ req, res }, 500, undefined, { code: RPC.internal, message: 'Internal error' });
    } finally {
      this.#active--;
    }
  }

  #routed(req: IncomingMessage, res: ServerResponse): void | Promise<void> {
    const { legacy, answers, door } = this.options;
    const path = pathOf(req.url);
    const { method } = req;
    if (path === '/mcp' || (path === this.#canonicalPath && !isPage(path, req))) {
      if (method === 'POST') return this.#entered(req, res, 'mcp', (exchange) => this.#post(exchange));
      if (method === 'GET') return this.#entered(req, res, 'mcp', (exchange) => legacy.get(exchange));
      if (method === 'DELETE') return this.#entered(req, res, 'mcp', (exchange) => legacy.delete(exchange));
    }
    if (path === '/sse' && method === 'GET') return this.#entered(req, res, 'sse', (exchange) => legacy.sse(exchange));
    if (path === '/messages' && method === 'POST')
      return this.#entered(req, res, 'sse', (exchange) => this.#messages(exchange));
    if (this.#ops(req, res, path)) return undefined;
    const refusal = door.front.admit(req);
    if (refusal !== undefined) return answers.refuse({ req, res }, refusal);
    if (AdminRoutes.takes(path)) return this.#plain(req, res, this.options.admin);
    if (PurgeRoute.takes(path)) return this.#plain(req, res, this.options.purge);
    if (BackendEvents.takes(path)) return this.#plain(req, res, this.options.backendEvents);
    if (method === 'OPTIONS') return door.front.preflight(req, res);
    if (!door.front.publicDocument(req, res)) answers.refuse({ req, res }, refuseRoute(method, req.url));
    return undefined;
  }

  /** Passes the door and hands on; the first gate that refuses answers. */
  async #entered(
    req: IncomingMessage,
    res: ServerResponse,
    resource: ResourceKind,
    next: (exchange: HttpExchange) => void | Promise<void>,
  ): Promise<void> {
    const { door, answers } = this.options;
    const started = performance.now();
    if (this.draining) return answers.refuse({ req, res }, SHUTTING_DOWN);
    const visit: Visit = { req, resource, caller: undefined };
    for (const [name, gate] of DOOR) {
      const result = gate(visit, door);
      const refusal = result instanceof Promise ? await result : result;
      if (refusal !== undefined) return this.#turnedAway(visit, res, started, name, refusal);
    }
    if (visit.caller === undefined) throw new Error('the door let nobody in');
    return next(new Exchange(req, res, visit.caller, started, door));
  }

  #turnedAway(visit: Visit, res: ServerResponse, started: number, gate: string, refusal: HttpRefusal): void {
    const { answers, records, metrics, door } = this.options;
    const { req, caller } = visit;
    const request_id = randomHex16();
    const { status, body, headers, auth_reason } = refusal;
    if (auth_reason === undefined) answers.refuse({ req, res }, refusal);
    // With it an operator finds the record of what the caller complains about.
    else answers.refuse({ req, res }, new HttpRefusal(status, body, { ...headers, 'X-Request-Id': request_id }));
    if (auth_reason !== undefined) {
      metrics.authFailures.inc({ reason: auth_reason });
      records.authFailure({
        reason: auth_reason,
        trace_id: traceIdOf(undefined, req.headers),
        ip: door.front.clientIp(req),
        origin: req.headers.origin,
        request_id,
      });
    } else if (caller !== undefined) {
      const error = { kind: 'resource_exhausted' as const, reason: 'rate_limited' as const };
      records.request(
        { caller, started, request_id, headers: req.headers },
        {
          method: req.method ?? '',
          era: 'modern',
          outcome: 'denied',
          gate,
          error,
          error_code: String(refusal.status),
          result_bytes: refusal.body.length,
        },
      );
    }
  }

  async #plain(req: IncomingMessage, res: ServerResponse, routes: Pick<AdminRoutes, 'answer'>): Promise<void> {
    const { answers, log } = this.options;
    if (this.draining) return answers.refuse({ req, res }, SHUTTING_DOWN);
    try {
      const { status, body, headers } = await routes.answer(req);
      // Refused unread: its client may look for the answer only when all of the body is out.
      if (!req.readableDidRead) dropRest(req);
      answers.json({ req, res }, status, JSON.stringify(body), { 'Cache-Control': 'no-store', ...headers });
    } catch (error) {
      log.debug({ error, path: pathOf(req.url) }, 'a client went away before its answer');
      res.destroy();
    }
  }

  async #post(exchange: HttpExchange): Promise<void> {
    const message = await this.#body(exchange);
    if (message === undefined) return;
    const envelope = classify(message, exchange.headers);
    switch (envelope.kind) {
      case 'request': {
        const forced = exchange.headers[LANE_HEADER] === 'sdk' && !this.options.settings.production;
        const lane = FastLane.takes(envelope.method) && !forced ? this.options.fast : this.options.sdk;
        await lane.serve(exchange, envelope);
        return this.#counted(exchange, envelope.method, 'modern');
      }
      case 'legacy':
        await this.options.legacy.post(exchange, message);
        this.#counted(exchange, methodOf(message), 'legacy');
        return;
      case 'notification':
        // None means anything in this era; posted all the same, each is accepted.
        this.options.answers.empty(exchange, 202);
        return;
      case 'fault':
        this.#fault(exchange, envelope, methodOf(message));
    }
  }

  async #messages(exchange: HttpExchange): Promise<void> {
    const message = await this.#body(exchange);
    if (message !== undefined) await this.options.legacy.messages(exchange, message);
  }

  /** The parsed body, or undefined when its fault has been answered. */
  async #body(exchange: HttpExchange): Promise<unknown> {
    let read: Awaited<ReturnType<typeof readMessage>>;
    try {
      read = await readMessage(exchange.req, this.options.settings.CORTEX_MAX_BODY_BYTES);
    } catch {
      // The client went away in the middle of its body: there is nobody to tell.
      return undefined;
    }
    if (!('kind' in read)) return read.message;
    this.#fault(exchange, read, '_unread');
    return undefined;
  }

  #fault(exchange: HttpExchange, fault: RpcFault, method: string): void {
    const { status, id, code, message, data } = fault;
    this.options.answers.rpcError(exchange, status, id, { code, message, data });
    const version = headerValue(exchange.headers, 'mcp-protocol-version');
    this.options.records.request(exchange, {
      method,
      era: version === MODERN ? 'modern' : 'legacy',
      outcome: 'denied',
      error: { kind: 'invalid_argument' },
      error_code: String(code),
      result_bytes: 0,
      ...(version !== undefined && { protocol_version: version.slice(0, 32) }),
    });
    this.#counted(exchange, '_invalid', version === MODERN ? 'modern' : 'legacy');
  }

  #counted(exchange: HttpExchange, method: string, era: string): void {
    const outcome = exchange.res.statusCode < 400 ? 'answered' : 'refused';
    this.options.metrics
      .request(LABELS.has(method) ? method : '_other', era)
      .count(outcome, performance.now() - exchange.started);
  }

  #ops(req: IncomingMessage, res: ServerResponse, path: string): boolean {
    if (path !== '/health' && path !== '/ready' && path !== '/metrics') return false;
    const { door, answers, ops } = this.options;
    const refusal = door.front.admit(req) ?? (path === '/metrics' ? this.#metricsRefusal(req) : undefined);
    if (refusal !== undefined) {
      answers.refuse({ req, res }, refusal);
      return true;
    }
    for (let i = 0; i < this.#base.length; i += 2) res.setHeader(this.#base[i] ?? '', this.#base[i + 1] ?? '');
    if (path === '/ready' && (req.method === 'GET' || req.method === 'HEAD')) {
      void answerReady(req, res, this.options.ready);
      return true;
    }
    return ops(req, res);
  }

  /** With a token only for its holder; without one, in production, only from this machine. */
  #metricsRefusal(req: IncomingMessage): HttpRefusal | undefined {
    const { CORTEX_METRICS_TOKEN: token, production } = this.options.settings;
    if (token !== undefined)
      return sameSecret(req.headers.authorization ?? '', `Bearer ${token}`) ? undefined : NO_METRICS;
    // What a proxy on this machine passes on comes from anywhere.
    const local = isLoopbackPeer(req) && req.headers['x-forwarded-for'] === undefined;
    return production && !local ? NO_METRICS : undefined;
  }
}

/** At a bare origin the status page and the endpoint share a path: a browser does not ask for a stream. */
const isPage = (path: string, { method, headers }: IncomingMessage): boolean =>
  path === '/' && (method === 'HEAD' || (method === 'GET' && headers.accept?.includes('text/event-stream') !== true));

/** Methods that may stand in a label; all others come from outside and share one. */
const LABELS = new Set([
  '_invalid',
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'completion/complete',
  'subscriptions/listen',
  'logging/setLevel',
  'notifications/initialized',
]);

const methodOf = (message: unknown): string => {
  const method = typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined;
  return typeof method === 'string' ? method : '_invalid';
};
