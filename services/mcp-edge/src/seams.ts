import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AuthRefusal } from '@cortex/auth';
import {
  type AnnouncedTool,
  type CallScope,
  cancelled,
  type Mode,
  type Outcome,
  type Principal,
  type WireError,
} from '@cortex/contracts';
import type { Federation } from './federation/federation.js';
import type { CallEvents, FederatedTool } from './federation/types.js';
import type { Methods } from './methods/methods.js';

/**
 * The seams between the halves of the edge: the calls (`mcp/`, `calls/`, `catalog/`, `guard/`, `ratelimit/`) on one side, who speaks and
 * in which old dialect (`auth/`, `http/`, `legacy/`, `tools/`) on the other. Types and two small carriers, no behaviour.
 */

export const MODERN = '2026-07-28';
export const LEGACY_REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export type LegacyRevision = (typeof LEGACY_REVISIONS)[number];
export type Revision = typeof MODERN | LegacyRevision;
export type Era = 'modern' | 'legacy';

/** What a session token says of its agent session (gateway, section 10.10). */
export interface SessionClaims {
  readonly sid: string;
  readonly kind: 'direct' | 'worker' | 'subagent' | 'run';
  readonly parent?: string;
  readonly groups: ReadonlySet<string>;
  /** Names of tools; without it the composition alone decides. */
  readonly allowlist?: ReadonlySet<string>;
  readonly workspace?: string;
  readonly agent_id?: string;
  readonly run_id?: string;
  readonly space_id?: string;
  readonly conversation_id?: string;
  readonly mode?: Mode;
  readonly project?: string;
  readonly channel?: string;
}

/** Who speaks, verified. Frozen; one object per token, so its identity may key caches. */
export interface CallerContext {
  /** Person: issuer, `sub` and `client_id`; agent: its `sid`. Never shown, never in a subject or a log: use `caller_hash`. */
  readonly caller_key: string;
  /** SHA-256 of the caller key, 64 hex digits. */
  readonly caller_hash: string;
  /** `system`: whoever holds the server's own secret, at the loopback listener alone. */
  readonly kind: 'person' | 'agent' | 'dev' | 'system';
  readonly issuer: string;
  /** A person's `sub` at the issuer, also where a session token only names the `per_` id. */
  readonly sub: string;
  /** Null for `system`. */
  readonly person_id: string | null;
  readonly client_id: string;
  /** Expanded by the scope hierarchy. */
  readonly scopes: ReadonlySet<string>;
  /** The scopes sorted and joined by a space: with composition and allow-list the key of prepared lists. */
  readonly scopes_key: string;
  readonly email: string;
  readonly name: string;
  readonly pool: string;
  readonly role: string;
  readonly audience: string;
  readonly jti: string | null;
  /** Seconds since 1970; Infinity for the development bypass. */
  readonly exp: number;
  readonly session?: SessionClaims;
  readonly dev_bypass: boolean;
  /** As it stands in bus requests; `principal_json` and `scope_json` are the same, already written. */
  readonly principal: Principal;
  readonly principal_json: string;
  readonly scope: CallScope;
  readonly scope_json: string;
}

/** An HTTP answer that ends a request before MCP is spoken. `body` is JSON text. */
export class HttpRefusal {
  constructor(
    readonly status: number,
    readonly body: string,
    readonly headers: Readonly<Record<string, string>> = {},
    /** The word of gateway section 10.3 for counters and records, where the refusal is one of authentication. */
    readonly auth_reason?: string,
  ) {}
}

/** Which resource the client asked for: the HTTP+SSE routes take one audience more. */
export type ResourceKind = 'mcp' | 'sse';

export interface Authenticator {
  /** Step 5 of gateway 3.1. Synchronous on a cache hit. */
  authenticate(
    req: IncomingMessage,
    resource: ResourceKind,
  ): CallerContext | HttpRefusal | Promise<CallerContext | HttpRefusal>;
  /** A session's token alone, as the loopback listener takes it: anything else is refused like a token that nobody made. */
  authenticateSession(token: string): CallerContext | HttpRefusal | Promise<CallerContext | HttpRefusal>;
  /**
   * The same checks of a token that somebody asks about: it counts nowhere, is kept nowhere, and whoever it names is not noted as seen.
   * Rejects with `unavailable` while people cannot be looked up.
   */
  examine(token: string): Promise<CallerContext | AuthRefusal>;
  /** The 403 of a missing item scope: `required` = every scope that the item needs. */
  scopeChallenge(req: IncomingMessage, required: readonly string[]): Readonly<Record<string, string>>;
  close(): void;
}

export interface HttpFront {
  /** Host, then Origin (steps 1 and 2). */
  admit(req: IncomingMessage): HttpRefusal | undefined;
  /** Headers for a real response to a cross-origin request, as the flat list that `writeHead` takes; empty without `Origin`. */
  corsHeaders(req: IncomingMessage): readonly string[];
  /** OPTIONS on the MCP routes and the public documents. */
  preflight(req: IncomingMessage, res: ServerResponse): void;
  /** GET of a public document (well-known, server card, status page, icons); false when the path is none of them. */
  publicDocument(req: IncomingMessage, res: ServerResponse): boolean;
  /** The client's address by the trusted hops. */
  clientIp(req: IncomingMessage): string;
}

/** Says that the caller is gone or has cancelled. Cheaper than an AbortController, of which one call in many has need. */
export class Cancellation {
  cancelled = false;
  #listener: ((reason: Error) => void) | undefined;
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.#listener?.(cancelledByCaller());
  }
  /** One listener: whoever waits at the moment. The `reject` of a promise will do. */
  set onCancel(listener: ((reason: Error) => void) | undefined) {
    this.#listener = listener;
    if (this.cancelled) listener?.(cancelledByCaller());
  }
}

export const cancelledByCaller = (): Error =>
  cancelled(undefined, 'the call was cancelled by its caller', 'call again if it is still wanted');

/** What of the request's `_meta` and headers a call reads; everything else of a client's `_meta` is ignored (threat T12). */
export interface CallMeta {
  progress_token?: string | number;
  idempotency_key?: string;
  /** W3C, valid; `_meta` before header. */
  traceparent?: string;
  tracestate?: string;
  /** W3C, for the backend alone. */
  baggage?: string;
}

/** What a client says of itself, with each request or once for its session, and its answers to what it was asked before. Unverified. */
export interface ClientSaid {
  readonly info?: unknown;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** From which level on it wants log lines; undefined: none. */
  readonly log_level?: string;
  /** As received. */
  readonly input_responses?: unknown;
  readonly request_state?: unknown;
}

/** One `tools/call`, whatever lane, era and transport it came by. */
export interface CallInput {
  caller: CallerContext;
  name: string;
  /** As received: undefined, or anything that JSON can be. */
  args: unknown;
  era: Era;
  revision: Revision;
  transport: 'http' | 'sse' | 'loopback' | 'bus';
  meta: CallMeta;
  cancel: Cancellation;
  /** Who is told what a backend says while it works; without it nobody is. */
  events?: CallEvents;
  client?: ClientSaid;
  /** How the same request would be given a list; where the tool shows definitions. */
  list?: ListOptions;
  /** JSON-RPC id: for the record alone, never a key. */
  rpc_id?: string | number;
  origin?: string;
  mcp_session_id?: string;
  request_id?: string;
}

/**
 * How a call ended. `result` = a CallToolResult: `members` is the inside of the object, e.g. `"content":[…],"structuredContent":{…}`, as the
 * service wrote it (bytes are never parsed on the way), without `isError` and `_meta`. `error` = a JSON-RPC error.
 */
export type CallOutcome =
  | {
      kind: 'result';
      members: Uint8Array | string;
      is_error: boolean;
      /** Set where the members are questions to the client (2026-07-28) in place of a result. */
      result_type?: 'input_required';
      /** Set for results of backends: whether their structured part is wrapped where a revision wants an object (gateway, section 13.8). */
      wraps?: boolean;
      meta?: Record<string, unknown>;
      call_id: string;
    }
  | {
      kind: 'error';
      code: number;
      message: string;
      data?: unknown;
      status: number;
      /** All scopes that would have been needed: the route adds the challenge. */
      required_scopes?: readonly string[];
      /** The same in our own words, for who does not speak JSON-RPC. */
      error: WireError;
      call_id: string;
    };

/** The only way to run a tool: every gate, the dispatch and the record. Never throws; the record is stored when it resolves. */
export type RunCall = (input: CallInput) => Promise<CallOutcome>;

/** How the client asked for its list (gateway, section 21). */
export interface ListOptions {
  backends?: readonly string[];
  search?: boolean;
  /** The form of the schemas as it was asked for (gateway, section 13.8), known or not. */
  schemas?: string;
  /** The name that the client gives itself. */
  client?: string;
}

/** The whole `result` object of `tools/list` for this caller in this revision: prepared bytes, not to be changed. */
export type ListTools = (caller: CallerContext, revision: Revision, options?: ListOptions) => Buffer;

/** The `result` object of a `tools/call` in a revision (gateway, section 5.7), `_meta` and `isError` included. */
export type RenderResult = (outcome: Extract<CallOutcome, { kind: 'result' }>, revision: Revision) => Buffer;

/** One tool of the catalogue as gates, lists and discovery read it. */
export interface CatalogTool {
  readonly name: string;
  readonly service: string;
  readonly announced: AnnouncedTool;
  /** Every scope that a caller needs, tier and `scopes` together; empty for the built-ins. */
  readonly required_scopes: readonly string[];
  /** False while no instance of the service lives: not listed, a call is `unavailable`. */
  readonly live: boolean;
  /** What it counts as for `X-Cortex-Backends`: `builtin`, `agent` or `workspace`, and of a federated one the id of its backend. */
  readonly shelf: string;
  /** Set for the tools of backends: asked over HTTP. */
  readonly federated: FederatedTool | undefined;
}

export interface CatalogReader {
  /** Rises with every change of what anybody could see. */
  readonly version: number;
  /** ISO time of the last change. */
  readonly changed_at: string;
  /** Every living tool in the order of `tools/list`. */
  all(): readonly CatalogTool[];
  /** By bare name or with a client prefix `mcp__<server>__`; dead ones too. */
  find(name: string): CatalogTool | undefined;
  /** Those of `all()` that scopes, composition and allow-list permit. */
  visible(caller: CallerContext): readonly CatalogTool[];
  /** Up to five names close to this one, best first; of those that the caller sees where one is given. */
  near(name: string, caller?: CallerContext): string[];
  /** A change of what is listed; returns the way to stop listening. */
  onChange(listener: () => void): () => void;
  /** All scopes of the living tools, sorted. */
  scopes(): readonly string[];
}

/** The mode gate as the discovery tools ask it (workspace-tools-2, sections 2.2 and 3). */
export interface ModeReader {
  /** The mode of the caller's conversation; undefined when there is none, which a call counts as `chat`. */
  modeOf(caller: CallerContext, args: Record<string, unknown>): Mode | undefined;
  /** Why this tool is refused in this mode, or undefined. */
  restriction(tool: CatalogTool, mode: Mode): string | undefined;
}

/** One HTTP request after steps 1 to 8; made by the route, passed along whole. */
export interface HttpExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly caller: CallerContext;
  readonly headers: IncomingHttpHeaders;
  /** `performance.now()` at arrival. */
  readonly started: number;
  readonly request_id: string;
  readonly ip: string;
}

/** A record of what is no tool call; `requestRecord` fills in the rest from the exchange. Never delays or fails an answer. */
export interface RequestNote {
  method: string;
  era: Era;
  params?: unknown;
  outcome: Outcome;
  error?: Pick<WireError, 'kind' | 'reason'>;
  gate?: string;
  error_code?: string;
  protocol_version?: string;
  mcp_session_id?: string;
  transport?: 'http' | 'sse' | 'loopback' | 'bus';
  result_bytes: number;
  /** Of the caller's own trace. */
  trace_id?: string;
  /** The backend that it was for, and the scope that let it through. */
  target_app?: string;
  scope_used?: string;
  /** Of `tools/list` alone: the list, and how it was asked for. */
  listed?: { list: Buffer; options: ListOptions };
}
export type RecordRequest = (exchange: HttpExchange, note: RequestNote) => void;

/** The only writers of bytes (security headers and CORS included). Each ends the response. */
export interface Answer {
  /** `body` = a whole JSON text. */
  json(
    exchange: Pick<HttpExchange, 'req' | 'res'>,
    status: number,
    body: string | Buffer,
    headers?: Record<string, string>,
  ): void;
  /** A JSON-RPC error; without an id the member is left out. */
  rpcError(
    exchange: Pick<HttpExchange, 'req' | 'res'>,
    status: number,
    id: string | number | undefined,
    error: { code: number; message: string; data?: unknown },
    headers?: Record<string, string>,
  ): void;
  /** `result` = the bytes of the result object. */
  rpcResult(
    exchange: Pick<HttpExchange, 'req' | 'res'>,
    id: string | number,
    result: Buffer,
    headers?: Record<string, string>,
  ): void;
  /** The plain text that HTTP+SSE clients get for a message that was taken. */
  text(exchange: Pick<HttpExchange, 'req' | 'res'>, status: number, body: string): void;
  empty(exchange: Pick<HttpExchange, 'req' | 'res'>, status: number, headers?: Record<string, string>): void;
  refuse(exchange: Pick<HttpExchange, 'req' | 'res'>, refusal: HttpRefusal): void;
  /** Heads of a 200 `text/event-stream`; the caller writes the events and ends it. */
  openStream(exchange: Pick<HttpExchange, 'req' | 'res'>, headers?: Record<string, string>): void;
}

/** What the legacy layer is given. */
export interface EdgeCore {
  readonly runCall: RunCall;
  readonly listTools: ListTools;
  readonly renderResult: RenderResult;
  readonly catalog: CatalogReader;
  readonly methods: Pick<Methods, 'serve' | 'toolPage' | 'knows' | 'view' | 'attribution'>;
  /** Changes of what backends offer. */
  readonly offers: Pick<Federation, 'onChange' | 'onResourceUpdated'>;
  readonly recordRequest: RecordRequest;
  readonly answer: Answer;
  /** Counts a request against the caller's limit; a refusal when it is used up (POST, GET stream, `/sse`). */
  takePermit(caller: CallerContext): HttpRefusal | undefined | Promise<HttpRefusal | undefined>;
  /** The text of gateway section 5.5. */
  instructions(): string;
}

/** The 2025 sessions (POST, GET, DELETE of `/mcp`) and HTTP+SSE. Host, origin, token, permit and body are checked before. */
export interface LegacyLayer {
  /** A parsed POST body that the era ladder gave to the legacy era: request, notification, response or batch. */
  post(exchange: HttpExchange, message: unknown): void | Promise<void>;
  get(exchange: HttpExchange): void | Promise<void>;
  delete(exchange: HttpExchange): void | Promise<void>;
  /** `GET /sse`. */
  sse(exchange: HttpExchange): void | Promise<void>;
  /** `POST /messages?sessionId=…`. */
  messages(exchange: HttpExchange, message: unknown): void | Promise<void>;
  /** Ends every open stream. */
  close(): Promise<void>;
}

/** The log of the service, with the fields first. */
export interface EdgeLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
