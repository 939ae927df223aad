import { Pool } from 'undici';
import { bearerOf } from '../auth/bearer.js';
import type { CallerContext } from '../seams.js';
import { Breaker } from './breaker.js';
import { Deadlines } from './deadlines.js';
import { Exchange } from './exchange.js';
import type { MachineIdentity } from './machine-identity.js';
import type { Backend, BackendAnswer, BackendRequest, ListKind } from './types.js';

/** Calls of callers at once; the catalogue has connections of its own, so that a backend that is busy is not taken for dead. */
const MAX_CALLS = 64;
const CATALOG_CONNECTIONS = 8;
const CONNECT_MS = 5_000;

export interface ClientOptions {
  readonly backend: Backend;
  /** Bytes of one answer, and milliseconds of the longest stream. */
  readonly maxBytes: number;
  readonly maxStreamMs: number;
  /** What the backend reports beside its answers. `changed` is awaited (bounded by its maker) before a plain answer is given. */
  readonly listChanged: (kinds: readonly ListKind[]) => Promise<void>;
  readonly resourceUpdated: (uri: string) => void;
  /** Where the token of the catalogue comes from for a backend with `machineIdentity`. */
  readonly machine?: Pick<MachineIdentity, 'token' | 'refused'> | undefined;
  /** Every answer with the milliseconds that it took; for the meters. */
  readonly answered?: (answer: BackendAnswer, ms: number) => void;
}

/** A request under way. */
export interface PendingAnswer {
  readonly answer: Promise<BackendAnswer>;
  /** Closes the connection, which tells the backend; the answer is then `cancelled`. */
  abort(): void;
}

/** Speaks the contract with one backend: pooled connections, no redirect, no proxy of the environment, no second try. */
export class BackendClient {
  readonly breaker = new Breaker();
  readonly #pool: Pool;
  readonly #path: string;
  readonly #deadlines = new Deadlines();
  readonly #callers = new WeakMap<CallerContext, readonly string[]>();
  /** Which lists streams called changed while what they said before is still being seen to. */
  readonly #unsaid = new Set<ListKind>();
  #telling = false;
  #calls = 0;

  constructor(private readonly options: ClientOptions) {
    const { backend } = options;
    const url = new URL(backend.url);
    this.#path = url.pathname.replace(/\/$/, '') + backend.path;
    // Times are watched by the exchange; those of the pool would end a stream that is allowed to be slow.
    this.#pool = new Pool(url.origin, {
      connections: MAX_CALLS + CATALOG_CONNECTIONS,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { timeout: CONNECT_MS },
    });
  }

  /** Never throws: what went wrong is an answer too. */
  call(request: BackendRequest): PendingAnswer {
    const { machine, backend } = this.options;
    if (request.as !== 'technical') return this.#started(request, this.#bearer(request.as));
    if (backend.machineIdentity !== true || machine === undefined)
      return this.#started(request, backend.technicalToken);
    return this.#asMachine(request, machine);
  }

  /** Asks with the token of the moment; one that the backend does not take is not used again. */
  #asMachine(request: BackendRequest, machine: NonNullable<ClientOptions['machine']>): PendingAnswer {
    let pending: PendingAnswer | undefined;
    const asking = async (): Promise<BackendAnswer> => {
      const token = await machine.token();
      pending = this.#started(request, token);
      const answer = await pending.answer;
      if (answer.kind === 'refused' && answer.status === 401) machine.refused(token);
      return answer;
    };
    const answer = asking().catch((error: unknown) => ({ kind: 'invalid' as const, why: (error as Error).message }));
    return { answer, abort: () => pending?.abort() };
  }

  #started(request: BackendRequest, bearer: string | undefined): PendingAnswer {
    const technical = request.as === 'technical';
    // The catalogue asks a broken backend all the same: its answer is how we learn that it is back.
    const leave = technical ? { go: true as const, trial: false } : this.breaker.ask();
    if (!leave.go) return given({ kind: 'away', sent: false, retryAfterMs: leave.retryAfterMs });
    if (!technical && this.#calls >= MAX_CALLS) {
      this.breaker.undecided(leave.trial);
      return given({ kind: 'busy' });
    }
    if (!technical) this.#calls++;
    const started = performance.now();
    let abort = (): void => undefined;
    const answer = new Promise<BackendAnswer>((resolve) => {
      const exchange = this.#exchange(request, bearer, (settled, changed) => {
        if (!technical) this.#calls--;
        this.#judge(settled, leave.trial);
        this.options.answered?.(settled, performance.now() - started);
        // Lists that called themselves changed would be asked for without end.
        if (technical || changed.length === 0) resolve(settled);
        else void this.options.listChanged(changed).finally(() => resolve(settled));
      });
      abort = () => exchange.abort();
      this.#send(request, bearer, exchange);
    });
    return { answer, abort };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #exchange(
    { as, timeoutMs, events }: BackendRequest,
    secret: string | undefined,
    settled: ConstructorParameters<typeof Exchange>[0]['settled'],
  ) {
    const { backend, maxBytes, maxStreamMs, resourceUpdated } = this.options;
    return new Exchange({
      timeoutMs: timeoutMs ?? backend.timeoutMs,
      maxBytes,
      maxStreamMs,
      deadlines: this.#deadlines,
      events,
      secret,
      settled,
      listChanged: (kinds) => (as === 'technical' ? undefined : this.#saidChanged(kinds)),
      resourceUpdated,
    });
  }

  /** However often streams say so, their lists are asked for one time after the other: 60,000 lines in one answer must not cost 60,000 catalogues. */
  #saidChanged(kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#unsaid.add(kind);
    if (!this.#telling) void this.#tellChanged();
  }

  async #tellChanged(): Promise<void> {
    this.#telling = true;
    try {
      while (this.#unsaid.size > 0) {
        const kinds = [...this.#unsaid];
        this.#unsaid.clear();
        await this.options.listChanged(kinds);
      }
    } finally {
      this.#telling = false;
    }
  }

  #send(request: BackendRequest, bearer: string | undefined, exchange: Exchange): void {
    const { method, params, context, as } = request;
    const headers = [...(as === 'technical' ? [...COMMON, ...authorization(bearer)] : this.#headersOf(as))];
    headers.push('x-cortex-request-id', request.requestId);
    if (request.idempotencyKey !== undefined)
      headers.push('x-cortex-idempotency-key', headerText(request.idempotencyKey));
    if (request.traceparent !== undefined) headers.push('traceparent', request.traceparent);
    if (request.tracestate !== undefined) headers.push('tracestate', headerText(request.tracestate));
    if (request.baggage !== undefined) headers.push('baggage', request.baggage);
    const more = context === undefined ? '' : `,"context":${context}`;
    const body = `{"method":${JSON.stringify(method)},"params":${params}${more}}`;
    try {
      this.#pool.dispatch({ path: this.#path, method: 'POST', headers, body }, exchange);
    } catch (error) {
      exchange.failed(error as Error);
    }
  }

  #judge(answer: BackendAnswer, trial: boolean): void {
    const { kind } = answer;
    if (kind === 'cancelled') this.breaker.undecided(trial);
    else if (kind === 'timeout' || kind === 'away' || (kind === 'refused' && answer.status >= 500))
      this.breaker.failed();
    else this.breaker.succeeded();
  }

  /** What of the headers is the caller's, worked out once per token. */
  #headersOf(caller: CallerContext): readonly string[] {
    let headers = this.#callers.get(caller);
    if (headers === undefined) {
      headers = [...COMMON, ...authorization(this.#bearer(caller)), ...identity(caller)];
      this.#callers.set(caller, headers);
    }
    return headers;
  }

  #bearer(caller: CallerContext): string | undefined {
    return this.options.backend.tokenMode === 'passthrough' ? bearerOf(caller) : undefined;
  }
}

const COMMON: readonly string[] = [
  'content-type',
  'application/json',
  'accept',
  'application/json, application/x-ndjson',
  'accept-encoding',
  'identity',
  'x-cortex-contract',
  '2',
];

const given = (answer: BackendAnswer): PendingAnswer => ({ answer: Promise.resolve(answer), abort: () => undefined });

const authorization = (token: string | undefined): string[] =>
  token === undefined ? [] : ['authorization', `Bearer ${token}`];

/** Who calls, for code that has verified the token already. Nobody is named where the session belongs to nobody who is known. */
function identity(caller: CallerContext): string[] {
  const { sub, email, role, pool, scopes_key, person_id, kind } = caller;
  const scopes = ['x-cortex-scopes', headerText(scopes_key)];
  if (kind === 'agent' && (person_id === null || person_id === sub)) return scopes;
  const fields = { 'user-id': sub, 'user-email': email, 'user-role': role, 'user-pool': pool };
  return [
    ...Object.entries(fields).flatMap(([name, value]) => (value === '' ? [] : [`x-cortex-${name}`, headerText(value)])),
    ...scopes,
  ];
}

/** Nothing of a claim can end a header or begin another: control characters go, what is not ASCII is percent-encoded. */
export const headerText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\p{Cc}/gu, '')
    .replace(/[^\x20-\x7e]+/g, encodeURIComponent)
    .trim();
