import { headerValue, type RpcId } from '../mcp/envelope.js';
import { Cancellation, HttpRefusal, MODERN, type Authenticator, type EdgeCore, type HttpExchange } from '../seams.js';
import type { Settings } from '../settings.js';
import { batchFault, runBatch } from './batch.js';
import type { Dispatch, Origin } from './dispatch.js';
import { Flights } from './flights.js';
import { greet, readHello } from './handshake.js';
import type { LegacyMetrics } from './connections.js';
import type { GetStreams } from './get-streams.js';
import type { Listeners } from './listeners.js';
import { errorOf, readMessage, type Json, type LegacyRequest, type Reply } from './message.js';
import { PostStream } from './post-stream.js';
import { POLLING, revisionOf, SUPPORTED } from './revision.js';
import type { Resumption } from './resumption.js';
import { capabilitiesIn, type Questions } from './questions.js';
import type { SessionRecord, SessionStore } from './session-store.js';
import type { SessionStreams } from './session-stream.js';
import type { Streams } from './streams.js';

const GONE = { code: -32001, message: 'Invalid or expired session' };
/** What a session whose client reads event streams is answered with as one. Source: gateway, section 5.6. */
const STREAMED = new Set(['tools/call', 'prompts/get', 'resources/read']);
const NO_STREAM = new HttpRefusal(405, '{"error":"method_not_allowed"}', { Allow: 'POST, GET, DELETE, OPTIONS' });
const MODERN_ONLY = new HttpRefusal(405, '{"error":"method_not_allowed"}', { Allow: 'POST, OPTIONS' });
const AWAY = { code: -32603, message: 'Sessions cannot be looked up just now; try again' };

export interface StreamableParts {
  core: EdgeCore;
  settings: Settings;
  sessions: SessionStore;
  dispatch: Dispatch;
  listeners: Listeners;
  streams: Streams;
  sessionStreams: SessionStreams;
  gets: GetStreams;
  resumption: Resumption;
  questions: Questions;
  metrics: LegacyMetrics;
  scopeChallenge: Authenticator['scopeChallenge'];
  log: (level: 'warn', message: string, fields: Record<string, unknown>) => void;
}

/** Streamable HTTP of the revisions before 2026-07-28. Source: gateway, sections 2.3 and 5. */
export class Streamable {
  readonly #flights = new Flights();

  constructor(private readonly parts: StreamableParts) {}

  async post(exchange: HttpExchange, message: unknown): Promise<void> {
    const { settings } = this.parts;
    if (!settings.CORTEX_LEGACY) return this.#refuseEra(exchange, message);
    if (Array.isArray(message)) return this.#batch(exchange, message);
    const read = readMessage(message);
    if (read.kind === 'invalid') return this.#fault(exchange, 400, read.id, -32600, read.problem);
    if (read.kind === 'request' && read.method === 'initialize') return this.#initialize(exchange, read);

    const id = read.kind === 'request' ? read.id : undefined;
    const session = await this.#session(exchange, id);
    if (session === 'answered') return;
    const { answer } = this.parts.core;
    if (read.kind === 'notification') {
      this.#notice(session, read.method, read.params);
      return answer.empty(exchange, 202);
    }
    if (read.kind === 'response') {
      if (session) this.parts.questions.answered(session.id, read.message);
      return answer.empty(exchange, 202);
    }
    return this.#request(exchange, session, read);
  }

  async get(exchange: HttpExchange): Promise<void> {
    const { core, settings, gets } = this.parts;
    const { headers } = exchange;
    if (!settings.CORTEX_LEGACY) return core.answer.refuse(exchange, MODERN_ONLY);
    const wantsStream = (headerValue(headers, 'accept') ?? '').includes('text/event-stream');
    if (!wantsStream || headerValue(headers, 'mcp-protocol-version') === MODERN) {
      return core.answer.refuse(exchange, NO_STREAM);
    }
    const session = await this.#session(exchange, undefined);
    if (session === 'answered') return;
    const revision = revisionOf(headerValue(headers, 'mcp-protocol-version'), session?.protocol_version);
    if (revision === null) return this.#unsupported(exchange);
    try {
      const outcome = await gets.open(exchange, session, revision);
      core.recordRequest(exchange, {
        method: 'GET',
        era: 'legacy',
        outcome,
        protocol_version: revision,
        ...(session && { mcp_session_id: session.id }),
        result_bytes: 0,
      });
    } catch (error) {
      this.#away(exchange, undefined, error);
    }
  }

  async delete(exchange: HttpExchange): Promise<void> {
    const { core, settings, sessions, listeners, resumption, metrics } = this.parts;
    const { headers, caller } = exchange;
    const modern = headerValue(headers, 'mcp-protocol-version') === MODERN;
    if (!settings.CORTEX_LEGACY || modern) return core.answer.refuse(exchange, modern ? NO_STREAM : MODERN_ONLY);
    const id = headerValue(headers, 'mcp-session-id');
    if (id === undefined) return this.#fault(exchange, 400, undefined, -32600, 'Mcp-Session-Id is missing');
    try {
      const ended = await sessions.delete(caller, id);
      if (ended) {
        metrics.sessions.dec();
        listeners.end(id);
        resumption.end(id);
      }
      core.answer.empty(exchange, ended ? 202 : 404);
      core.recordRequest(exchange, {
        method: 'DELETE',
        era: 'legacy',
        outcome: ended ? 'succeeded' : 'failed',
        ...(ended && { mcp_session_id: id }),
        result_bytes: 0,
      });
    } catch (error) {
      this.#away(exchange, undefined, error);
    }
  }

  async #initialize(exchange: HttpExchange, { id, params }: LegacyRequest): Promise<void> {
    const { core, settings, sessions, metrics } = this.parts;
    const hello = readHello(params, '2025-11-25');
    if (!('protocol_version' in hello)) return this.#write(exchange, id, hello);
    try {
      const named = headerValue(exchange.headers, 'mcp-session-id');
      // A client whose session is dead may well start anew with the old id still in its header.
      if (named !== undefined && (await sessions.get(exchange.caller, named)) !== null) {
        return this.#fault(exchange, 400, id, -32600, 'This session is initialized already');
      }
      const session = await sessions.create(exchange.caller, hello);
      if (session === null) {
        return this.#write(exchange, id, errorOf(-32602, 'params are too large; describe the client in 32 KiB'));
      }
      metrics.sessions.inc();
      const reply = greet(core, settings, hello);
      if ('result' in reply) core.answer.rpcResult(exchange, id, reply.result, { 'Mcp-Session-Id': session.id });
      core.recordRequest(exchange, {
        method: 'initialize',
        era: 'legacy',
        params,
        outcome: 'succeeded',
        protocol_version: hello.protocol_version,
        mcp_session_id: session.id,
        result_bytes: 'result' in reply ? reply.result.length : 0,
      });
    } catch (error) {
      this.#away(exchange, id, error);
    }
  }

  async #request(exchange: HttpExchange, session: SessionRecord | null, request: LegacyRequest): Promise<void> {
    const { id, method } = request;
    const origin = this.#origin(exchange, session);
    if (origin === null) return this.#unsupported(exchange, id);
    const cancel = session ? this.#flights.begin(session.id, id) : new Cancellation();
    if (cancel === null) return this.#fault(exchange, 400, id, -32600, IN_FLIGHT);
    const streamed = session !== null && STREAMED.has(method) && acceptsStream(exchange);
    const stream = streamed ? new PostStream(this.parts, exchange, session, request) : undefined;
    try {
      const reply = await this.parts.dispatch({ ...origin, ...this.#onStream(session, stream) }, request, cancel);
      if (!stream?.finish(reply)) this.#write(exchange, id, reply);
    } finally {
      stream?.end();
      if (session) this.#flights.end(session.id, id);
    }
  }

  async #batch(exchange: HttpExchange, batch: readonly unknown[]): Promise<void> {
    const { core, dispatch } = this.parts;
    const session = await this.#session(exchange, undefined);
    if (session === 'answered') return;
    const fault = batchFault(batch, session?.protocol_version);
    const origin = this.#origin(exchange, session);
    if (session === null || origin === null || fault !== null) {
      return this.#fault(exchange, 400, undefined, -32600, fault ?? 'A batch needs a session');
    }
    const answers = await runBatch(core, exchange.caller, batch, {
      notification: ({ method, params }) => this.#notice(session, method, params),
      request: async (request) => {
        const cancel = this.#flights.begin(session.id, request.id);
        if (cancel === null) return errorOf(-32600, IN_FLIGHT);
        try {
          return await dispatch(origin, request, cancel);
        } finally {
          this.#flights.end(session.id, request.id);
        }
      },
    });
    if (answers === null) core.answer.empty(exchange, 202);
    else core.answer.json(exchange, 200, answers);
  }

  #notice(session: SessionRecord | null, method: string, { requestId }: Json): void {
    if (method !== 'notifications/cancelled' || session === null) return;
    if (typeof requestId === 'string' || typeof requestId === 'number') this.#flights.cancel(session.id, requestId);
  }

  #origin(exchange: HttpExchange, session: SessionRecord | null): Origin | null {
    const revision = revisionOf(headerValue(exchange.headers, 'mcp-protocol-version'), session?.protocol_version);
    if (revision === null) return null;
    return {
      exchange,
      revision,
      transport: 'http',
      ...(session && {
        session: session.id,
        setLogLevel: (level) => this.parts.sessions.setLogLevel(exchange.caller, session.id, level),
        subscribe: (uri, wanted) => this.#subscribe(exchange, session.id, uri, wanted),
        client: {
          info: session.client_info,
          // Without a stream nothing can be asked; with one `#onStream` tells what may be.
          capabilities: {},
          ...(session.log_level !== undefined && { log_level: session.log_level }),
        },
      }),
    };
  }

  /** What can be told and asked ahead of an answer that is a stream. */
  #onStream(
    session: SessionRecord | null,
    stream: PostStream | undefined,
  ): Pick<Origin, 'tell' | 'ask' | 'closeStream' | 'client'> {
    if (session === null || stream === undefined) return {};
    const { protocol_version: revision, client_capabilities, client_info: info, log_level } = session;
    const tell = (message: string): void => stream.tell(message);
    return {
      tell,
      ask: (method, params) => this.parts.questions.ask(session.id, tell, method, params),
      ...(revision === POLLING && { closeStream: stream.closeConnection }),
      client: {
        info,
        capabilities: capabilitiesIn(revision, client_capabilities),
        ...(log_level !== undefined && { log_level }),
      },
    };
  }

  async #subscribe({ caller }: HttpExchange, id: string, uri: string, wanted: boolean): Promise<void> {
    const uris = await this.parts.sessions.subscribe(caller, id, uri, wanted);
    this.parts.listeners.subscribe(id, uris);
  }

  /** The session that the header names, null without one; what is no session of this caller is answered here. */
  async #session(exchange: HttpExchange, id: RpcId | undefined): Promise<SessionRecord | null | 'answered'> {
    const named = headerValue(exchange.headers, 'mcp-session-id');
    if (named === undefined) return null;
    try {
      const session = await this.parts.sessions.get(exchange.caller, named);
      if (session) return session;
      this.parts.core.answer.rpcError(exchange, 404, id, GONE);
    } catch (error) {
      this.#away(exchange, id, error);
    }
    return 'answered';
  }

  #write(exchange: HttpExchange, id: RpcId, reply: Reply): void {
    const { core, scopeChallenge } = this.parts;
    if ('result' in reply) return core.answer.rpcResult(exchange, id, reply.result);
    const { error, status = 200, required_scopes } = reply;
    const challenge = status === 403 && required_scopes ? scopeChallenge(exchange.req, required_scopes) : undefined;
    core.answer.rpcError(exchange, status, id, error, challenge);
  }

  #fault(exchange: HttpExchange, status: number, id: RpcId | undefined, code: number, message: string): void {
    this.parts.core.answer.rpcError(exchange, status, id, { code, message });
  }

  #unsupported(exchange: HttpExchange, id?: RpcId): void {
    const error = { code: -32600, message: 'Unsupported protocol version', data: { supported: SUPPORTED } };
    this.parts.core.answer.rpcError(exchange, 400, id, error);
  }

  #refuseEra(exchange: HttpExchange, message: unknown): void {
    const read = readMessage(message);
    const requested = read.kind === 'request' ? read.params.protocolVersion : undefined;
    const data = { supported: [MODERN], ...(typeof requested === 'string' && { requested }) };
    const error = { code: -32022, message: 'Only revision 2026-07-28 is served here', data };
    this.parts.core.answer.rpcError(exchange, 400, read.kind === 'request' ? read.id : undefined, error);
  }

  #away(exchange: HttpExchange, id: RpcId | undefined, error: unknown): void {
    this.parts.log('warn', 'a protocol session could not be looked up', { error });
    this.parts.core.answer.rpcError(exchange, 503, id, AWAY, { 'Retry-After': '1' });
  }
}

export const IN_FLIGHT = 'A request with this id is in flight in this session; use another id';

const acceptsStream = ({ headers }: HttpExchange): boolean =>
  (headerValue(headers, 'accept') ?? '').includes('text/event-stream');
