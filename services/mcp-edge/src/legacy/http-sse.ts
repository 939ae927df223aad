import { randomUUID } from 'node:crypto';
import { connectionSettings } from '../mcp/call-meta.js';
import { headerValue, type RpcId } from '../mcp/envelope.js';
import { HttpRefusal, type ClientSaid, type EdgeCore, type HttpExchange, type LegacyRevision } from '../seams.js';
import type { Settings } from '../settings.js';
import { batchFault, runBatch } from './batch.js';
import type { Dispatch, Origin } from './dispatch.js';
import { Flights } from './flights.js';
import { greet, readHello } from './handshake.js';
import type { Listeners } from './listeners.js';
import { errorOf, readMessage, responseBytes, type Json, type LegacyRequest, type Reply } from './message.js';
import { capabilitiesIn, type Questions } from './questions.js';
import { MAX_SUBSCRIPTIONS } from './session-store.js';
import { IN_FLIGHT } from './streamable.js';
import type { EventStream } from './streams.js';

const NOT_FOUND = new HttpRefusal(404, '{"error":"not_found"}');
const NOT_ACCEPTABLE = { code: 406, message: 'Accept must list text/event-stream' };

interface SseSession {
  id: string;
  caller_key: string;
  stream: EventStream;
  /** Null before `initialize`. */
  revision: LegacyRevision | null;
  client: ClientSaid;
  subscriptions: readonly string[];
}

export interface HttpSseParts {
  core: EdgeCore;
  settings: Settings;
  dispatch: Dispatch;
  listeners: Listeners;
  questions: Questions;
  log: (level: 'error', message: string, fields: Record<string, unknown>) => void;
}

/**
 * HTTP+SSE of 2024-11-05: one stream that carries every answer, and a second route for the client's messages. The session
 * is the stream: it lives in the process that holds it and ends with it. Source: gateway, section 6.
 */
export class HttpSse {
  readonly #sessions = new Map<string, SseSession>();
  readonly #flights = new Flights();

  constructor(private readonly parts: HttpSseParts) {}

  sse(exchange: HttpExchange): void {
    const { core, listeners } = this.parts;
    if (!this.#on) return core.answer.refuse(exchange, NOT_FOUND);
    const accept = headerValue(exchange.headers, 'accept') ?? '*/*';
    if (!/text\/event-stream|text\/\*|\*\/\*/.test(accept)) {
      return core.answer.rpcError(exchange, 406, undefined, NOT_ACCEPTABLE);
    }
    const id = randomUUID();
    const stream = listeners.open(exchange, {
      key: id,
      kind: 'sse',
      revision: () => this.#sessions.get(id)?.revision ?? '2024-11-05',
    });
    if (stream instanceof HttpRefusal) core.answer.refuse(exchange, stream);
    else {
      this.#sessions.set(id, {
        id,
        caller_key: exchange.caller.caller_key,
        stream,
        revision: null,
        client: {},
        subscriptions: [],
      });
      stream.onClose(() => this.#sessions.delete(id));
      stream.send('endpoint', `/messages?sessionId=${id}${connectionSettings(exchange.req.url)}`);
    }
    core.recordRequest(exchange, {
      method: 'GET',
      era: 'legacy',
      outcome: stream instanceof HttpRefusal ? 'denied' : 'succeeded',
      mcp_session_id: id,
      transport: 'sse',
      result_bytes: 0,
    });
  }

  messages(exchange: HttpExchange, message: unknown): void {
    const { core } = this.parts;
    if (!this.#on) return core.answer.refuse(exchange, NOT_FOUND);
    const id = new URL(exchange.req.url ?? '/', 'http://edge.invalid').searchParams.get('sessionId');
    if (id === null || id === '') return this.#fault(exchange, 400, undefined, -32600, 'sessionId is missing');
    const session = this.#sessions.get(id);
    if (session === undefined || session.caller_key !== exchange.caller.caller_key) {
      return this.#fault(exchange, 404, undefined, -32001, 'Invalid or expired session');
    }
    if (Array.isArray(message)) return this.#batch(exchange, session, message);
    const read = readMessage(message);
    if (read.kind === 'invalid') return this.#fault(exchange, 400, read.id, -32600, read.problem);
    if (read.kind === 'request') {
      const answering = this.#answer(exchange, session, read);
      if (answering === null) return this.#fault(exchange, 400, read.id, -32600, IN_FLIGHT);
      answering
        .then((reply) => reply && session.stream.send('message', responseBytes(read.id, reply)))
        .catch(this.#unsent);
    } else if (read.kind === 'notification') this.#notice(session, read.method, read.params);
    else this.parts.questions.answered(session.id, read.message);
    core.answer.text(exchange, 202, 'Accepted');
  }

  /** True while a request of this session is being answered: its stream must not end under it. */
  busy(id: string): boolean {
    return this.#flights.busy(id);
  }

  get #on(): boolean {
    return this.parts.settings.CORTEX_LEGACY && this.parts.settings.CORTEX_LEGACY_SSE;
  }

  #batch(exchange: HttpExchange, session: SseSession, batch: readonly unknown[]): void {
    const { core } = this.parts;
    const fault = batchFault(batch, session.revision ?? undefined);
    if (fault !== null) return this.#fault(exchange, 400, undefined, -32600, fault);
    runBatch(core, exchange.caller, batch, {
      notification: ({ method, params }) => this.#notice(session, method, params),
      request: async (request) => (await this.#answer(exchange, session, request)) ?? errorOf(-32600, IN_FLIGHT),
    })
      .then((answers) => answers && session.stream.send('message', answers))
      .catch(this.#unsent);
    core.answer.text(exchange, 202, 'Accepted');
  }

  /** Null when the id is in flight. A cancelled request gets no answer: its client no longer listens for one. */
  #answer(exchange: HttpExchange, session: SseSession, request: LegacyRequest): Promise<Reply | null> | null {
    const cancel = this.#flights.begin(session.id, request.id);
    if (cancel === null) return null;
    const answering =
      request.method === 'initialize'
        ? Promise.resolve(this.#initialize(exchange, session, request))
        : this.parts.dispatch(this.#origin(exchange, session), request, cancel);
    return answering
      .then((reply) => (cancel.cancelled ? null : reply))
      .finally(() => this.#flights.end(session.id, request.id));
  }

  #initialize(exchange: HttpExchange, session: SseSession, { params }: LegacyRequest): Reply {
    const { core, settings } = this.parts;
    if (session.revision !== null) return errorOf(-32600, 'This session is initialized already');
    const hello = readHello(params, '2024-11-05');
    if (!('protocol_version' in hello)) return hello;
    session.revision = hello.protocol_version;
    const capabilities = capabilitiesIn(hello.protocol_version, hello.client_capabilities);
    session.client = { ...session.client, info: hello.client_info, capabilities };
    const reply = greet(core, settings, hello);
    core.recordRequest(exchange, {
      method: 'initialize',
      era: 'legacy',
      params,
      outcome: 'succeeded',
      protocol_version: hello.protocol_version,
      mcp_session_id: session.id,
      transport: 'sse',
      result_bytes: 'result' in reply ? reply.result.length : 0,
    });
    return reply;
  }

  #origin(exchange: HttpExchange, session: SseSession): Origin {
    const tell = (message: string): void => session.stream.send('message', message);
    return {
      exchange,
      revision: session.revision ?? '2024-11-05',
      transport: 'sse',
      session: session.id,
      client: session.client,
      tell,
      ask: (method, params) => this.parts.questions.ask(session.id, tell, method, params),
      setLogLevel: (log_level) => void (session.client = { ...session.client, log_level }),
      subscribe: (uri, wanted) => {
        const others = session.subscriptions.filter((one) => one !== uri);
        session.subscriptions = wanted ? [...others, uri].slice(-MAX_SUBSCRIPTIONS) : others;
        this.parts.listeners.subscribe(session.id, session.subscriptions);
      },
    };
  }

  #notice(session: SseSession, method: string, { requestId }: Json): void {
    if (method !== 'notifications/cancelled') return;
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#flights.cancel(session.id, requestId);
  }

  /** The request was answered 202 long ago; a rejection that nobody takes would end the process. */
  #unsent = (error: unknown): void => this.parts.log('error', 'an answer could not be sent', { error });

  #fault(exchange: HttpExchange, status: number, id: RpcId | undefined, code: number, message: string): void {
    this.parts.core.answer.rpcError(exchange, status, id, { code, message });
  }
}
