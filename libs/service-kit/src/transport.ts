import { answer, readRequest, type BusMessage, type BusSubscription } from '@cortex/bus';
import {
  INLINE_LIMIT,
  internal,
  isCortexError,
  mayCall,
  notFound,
  toolToken,
  type BusReply,
  type BusRequest,
  type WireError,
} from '@cortex/contracts';
import type { CustomTransportStrategy } from '@nestjs/microservices';
import type { Endpoint } from './endpoint.js';
import { answerOf } from './faults.js';
import type { ServiceHost } from './host.js';
import { checkRequest } from './request.js';
import { CallRunner, type ToolReply } from './runner.js';
import type { Tool } from './tool.js';

/** Calls under way when a service stops get this long to end by themselves. */
export const DRAIN_MS = 20_000;

/**
 * Nest's transport on our bus: what the registry of the service declares, answered on the subjects that the access table
 * gives it. Nest starts and closes it; `open` begins to take calls, once the service is ready.
 */
export class BusTransport implements CustomTransportStrategy {
  readonly runner: CallRunner;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #toolsByToken: ReadonlyMap<string, Tool>;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  #subscriptions: BusSubscription[] = [];
  #closed: Promise<void> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(readonly host: ServiceHost) {
    this.runner = new CallRunner(host);
    const { tools, queries = [], commands = [] } = host.definition;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#toolsByToken = new Map(tools.map((tool) => [toolToken(tool.name), tool]));
    this.#endpoints = new Map(
      [...queries, ...commands].map((endpoint) => [`${endpoint.kind}.${endpoint.name}`, endpoint]),
    );
  }

  listen(callback: () => void): void {
    callback();
  }

  /** Begins to take calls: instances of a service share them by a queue group. */
  open(): void {
    if (this.#subscriptions.length > 0 || this.#closed) return;
    const { bus, definition } = this.host;
    const { name } = definition;
    const shared = (subject: string, serve: (message: BusMessage, last: string) => Promise<void>) =>
      bus.subscribe(subject, (message) => this.#receive(subject, message, serve), { queue: name });
    this.#subscriptions = [
      shared(`cortex.tool.${name}.*`, (message, token) => this.#serveTool(message, token)),
      shared(`cortex.query.${name}.*`, (message, token) => this.#serveEndpoint('query', message, token)),
      shared(`cortex.cmd.${name}.*`, (message, token) => this.#serveEndpoint('cmd', message, token)),
      // Every instance hears of a cancel: the sender does not know which one has the call.
      bus.subscribe(`cortex.live.${name}.cancel`, (message) => this.#cancel(message)),
    ];
  }

  /** Takes no new call, waits for those under way, ends them after `DRAIN_MS`. Nest and the kit both may call it. */
  close(): Promise<void> {
    return (this.#closed ??= this.#drain());
  }

  async #drain(): Promise<void> {
    const subscriptions = this.#subscriptions.splice(0);
    await Promise.allSettled(subscriptions.map((subscription) => subscription.drain()));
    await this.host.stopping();
    const all = await this.runner.inFlight.drain(DRAIN_MS);
    if (!all) this.host.log.warn({ grace_ms: DRAIN_MS }, 'calls were ended because the service stops');
  }

  #receive(pattern: string, message: BusMessage, serve: (message: BusMessage, last: string) => Promise<void>): void {
    const { log, metrics, definition } = this.host;
    const prefix = pattern.slice(0, -1);
    if (!message.subject.startsWith(prefix) || !mayCall(message.subject, message.reply)) {
      metrics.dropped.inc({ service: definition.name });
      // Counted all, told once a second: whoever sends garbage could fill the disk with our words.
      const now = performance.now();
      if (now - this.#toldAt >= 1_000) {
        this.#toldAt = now;
        log.warn({ subject: message.subject.slice(0, 200) }, 'dropped a message from somebody who may not send it');
      }
      return;
    }
    serve(message, message.subject.slice(prefix.length)).catch((error: unknown) => {
      log.error({ err: error, subject: message.subject }, 'a reply could not be sent');
    });
  }

  async #serveTool(message: BusMessage, token: string): Promise<void> {
    const tool = this.#toolsByToken.get(token);
    const request = await this.#read(message);
    let reply: ToolReply;
    if ('error' in request) reply = { head: { ok: false, error: request.error }, body: '' };
    else if (tool) reply = await this.runner.tool(tool, request.request);
    else reply = { head: { ok: false, error: unknown('tool', token).toWire() }, body: '' };
    await this.#sendFramed(message, reply, 'request' in request ? request.request.call_id : '');
  }

  async #sendFramed(message: BusMessage, { head, body }: ToolReply, callId: string): Promise<void> {
    // A UTF-16 unit is at most three bytes: short bodies need not be counted.
    const large = body.length * 3 > INLINE_LIMIT && Buffer.byteLength(body) > INLINE_LIMIT;
    try {
      if (large && head.ok) {
        const blob = await this.host.bus.blobs.put(Buffer.from(body));
        message.respond(`${JSON.stringify({ ...head, blob })}\n`);
      } else {
        message.respond(`${JSON.stringify(head)}\n${body}`);
      }
    } catch (error) {
      // Too large a head, or a store that is full: the caller hears of it rather than wait for its deadline.
      message.respond(`${JSON.stringify({ ok: false, error: this.#unsent(error, callId) })}\n`);
    }
  }

  async #serveEndpoint(kind: 'query' | 'cmd', message: BusMessage, name: string): Promise<void> {
    const request = await this.#read(message);
    let reply: BusReply;
    const endpoint = this.#endpoints.get(`${kind}.${name}`);
    if ('error' in request) reply = { ok: false, error: request.error };
    else if (endpoint) reply = await this.runner.endpoint(endpoint, request.request);
    else if (kind === 'query' && name === 'approval_payload') {
      reply = await this.runner.approvalPayload(this.#tools, request.request);
    } else reply = { ok: false, error: unknown(kind === 'cmd' ? 'command' : 'query', name).toWire() };
    try {
      await answer(this.host.bus, message, JSON.stringify(reply));
    } catch (error) {
      const callId = 'request' in request ? request.request.call_id : '';
      message.respond(JSON.stringify({ ok: false, error: this.#unsent(error, callId) }));
    }
  }

  async #read(message: BusMessage): Promise<{ request: BusRequest } | { error: WireError }> {
    try {
      const request = checkRequest(await readRequest(this.host.bus, message));
      request.traceparent ??= message.headers?.get('traceparent') || undefined;
      return { request };
    } catch (error) {
      return { error: answerOf(error, '', this.host.log) };
    }
  }

  /** A result that cannot travel is our fault, whatever the bus calls it: its caller cannot mend it by another argument. */
  #unsent(error: unknown, callId: string): WireError {
    const known = isCortexError(error) && error.kind !== 'invalid_argument';
    const problem = internal(undefined, `the answer of call ${callId} cannot be sent`, 'report the call id', {
      cause: error,
    });
    return answerOf(known ? error : problem, callId, this.host.log.child({ call_id: callId }));
  }

  #cancel(message: BusMessage): void {
    if (message.subject !== `cortex.live.${this.host.definition.name}.cancel`) return;
    try {
      const { call_id } = message.json<{ call_id?: unknown }>();
      if (typeof call_id === 'string') this.runner.inFlight.cancel(call_id);
    } catch (error) {
      this.host.log.warn({ err: error }, 'a cancel message could not be read');
    }
  }
}

const unknown = (what: 'tool' | 'query' | 'command', name: string) =>
  notFound(
    what,
    `"${name.slice(0, 64)}" is unknown to this service`,
    'list it in the registry, or run one release of Cortex everywhere',
  );
