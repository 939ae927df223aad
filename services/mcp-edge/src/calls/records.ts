import { createHmac } from 'node:crypto';
import type { Bus } from '@cortex/bus';
import {
  AUTH_FAILURE_RECORD,
  isCortexError,
  REQUEST_RECORD,
  type Outcome,
  subjects,
  type WireError,
} from '@cortex/contracts';
import type { EdgeMetrics } from '../metrics.js';
import type { EdgeLog, HttpExchange, RequestNote } from '../seams.js';
import type { CallContext } from './call-context.js';
import { callId } from './ids.js';

const SELF = 'mcp-edge';
/** Calls of tools that do not exist share one subject: their names come from outside. The record holds the name. */
const UNKNOWN_TOOL = '_unknown';
const MAX_PENDING = 10_000;
const FIRST_TRY_MS = 1_000;
const KEEP_TRYING_MS = 10_000;
const PAUSE_MS = 100;
const PROBE_MS = 1_000;
const MAX_NAME = 256;

/** How a call ended, for its record. */
export interface Ending {
  outcome: Outcome;
  error?: Pick<WireError, 'kind' | 'reason'>;
  gate?: string;
  error_code?: string;
  result_bytes: number;
}

export interface RecordsOptions {
  bus: Bus;
  log: EdgeLog;
  metrics: EdgeMetrics;
  auditHashKey: string;
  /** Name of this replica in the records. */
  replica: string;
  catalogVersion(): number;
}

/**
 * The records of everything that was asked. `Started` and the request leave on one connection in that order, so no service sees a call
 * whose start is not at the broker; `Finished` is acknowledged before the answer goes out. While JetStream takes nothing, `open` is false
 * and no call is run.
 */
export class Records {
  #closed = false;
  #probing = false;
  #probe: NodeJS.Timeout | undefined;
  readonly #pending: { subject: string; body: string }[] = [];
  readonly #offStatus: () => void;

  constructor(private readonly options: RecordsOptions) {
    this.#offStatus = options.bus.onStatus((up) => up && this.#drainPending());
  }

  get open(): boolean {
    return this.options.bus.up && !this.#closed;
  }

  /** For `/ready`. */
  get problem(): string | null {
    if (!this.options.bus.up) return 'NATS is away';
    return this.#closed ? 'JetStream takes no call records' : null;
  }

  stop(): void {
    clearInterval(this.#probe);
    this.#offStatus();
  }

  hash(text: string): string {
    return createHmac('sha256', this.options.auditHashKey).update(text).digest('hex').slice(0, 16);
  }

  /** Published without an acknowledgement; what was lost of it stands in `Finished` again. */
  started(ctx: CallContext, fields: string, subject: string): void {
    this.options.bus.publish(subject, `{"type":"ToolCallStarted","at":"${ctx.at}",${fields}}`);
  }

  /** Resolves when the record is stored; false when it could not be within ten seconds. */
  async finished(ctx: CallContext, fields: string, subject: string, ending: Ending): Promise<boolean> {
    const { bus } = this.options;
    const body = `{"type":"ToolCallFinished","at":"${ctx.at}",${fields},${this.#endingFields(ctx, ending)}}`;
    try {
      // No message id at the first try: it costs the broker more, and nearly every first try succeeds.
      await bus.publishAcked(subject, body, { timeoutMs: FIRST_TRY_MS });
      return true;
    } catch (error) {
      this.#close(error);
    }
    const until = performance.now() + KEEP_TRYING_MS;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (!bus.up) continue;
      try {
        await bus.publishAcked(subject, body, { msgId: `finished-${ctx.call_id}`, timeoutMs: FIRST_TRY_MS });
        this.#reopen();
        return true;
      } catch (error) {
        this.#close(error);
      }
    }
    this.options.log.error(
      { call_id: ctx.call_id, tool: ctx.input.name },
      'a call ran and its record could not be stored',
    );
    return false;
  }

  /** Fields of both records of a call, as the inside of a JSON object; worked out once. */
  callFields(ctx: CallContext): { fields: string; subject: string } {
    const { input, tool } = ctx;
    const { caller } = input;
    const fields = JSON.stringify({
      call_id: ctx.call_id,
      tool: (tool?.name ?? input.name).slice(0, MAX_NAME),
      service: tool?.service ?? SELF,
      target_app: tool === undefined ? null : tool.block === 'builtin' ? 'gateway' : tool.service,
      caller_sub: caller.sub,
      client_id: caller.client_id,
      session_id: caller.session?.sid,
      workspace: ctx.workspace ?? undefined,
      params_hash: input.args === undefined ? null : this.hash(ctx.args_json),
      args_bytes: ctx.args_json.length,
      transport: input.transport,
      era: input.era,
      trace_id: ctx.trace_id,
      deadline_ms: tool?.announced.deadline_ms ?? 0,
    });
    return { fields: fields.slice(1, -1), subject: subjects.call(tool?.service ?? SELF, tool?.name ?? UNKNOWN_TOOL) };
  }

  /** One record of a request that is no tool call. Never delays or fails an answer. */
  request(exchange: Pick<HttpExchange, 'caller' | 'started' | 'request_id' | 'headers'>, note: RequestNote): void {
    const { caller, headers } = exchange;
    const { params, error, tools_listed, ...rest } = note;
    const body = JSON.stringify({
      type: 'RequestRecorded',
      call_id: callId(),
      at: new Date().toISOString(),
      caller_sub: caller.sub,
      client_id: caller.client_id,
      session_id: caller.session?.sid,
      params_hash: params === undefined ? null : this.hash(JSON.stringify(params)),
      ...rest,
      method: rest.method.slice(0, MAX_NAME),
      transport: rest.transport ?? 'http',
      error_kind: error?.kind,
      reason: error?.reason,
      duration_ms: rounded(performance.now() - exchange.started),
      ...(tools_listed !== undefined && { tools_listed, tokens_estimate: Math.ceil(rest.result_bytes / 4) }),
      caller_role: caller.role || undefined,
      caller_pool: caller.pool || undefined,
      origin: headers.origin,
      dev_bypass: caller.dev_bypass || undefined,
      request_id: exchange.request_id,
      replica: this.options.replica,
      catalog_version: this.options.catalogVersion(),
    });
    this.#publish(subjects.call(SELF, REQUEST_RECORD), body);
  }

  /** A refused authentication; without a byte of the token. */
  authFailure(fields: { reason: string; ip: string; origin?: string | undefined; request_id: string }): void {
    const { reason, ip, origin, request_id } = fields;
    const body = {
      type: 'AuthenticationRefused',
      call_id: callId(),
      at: new Date().toISOString(),
      reason,
      ip_hash: this.hash(ip),
      origin,
      request_id,
    };
    this.#publish(subjects.call(SELF, AUTH_FAILURE_RECORD), JSON.stringify(body));
  }

  #endingFields(ctx: CallContext, ending: Ending): string {
    const { caller, revision, origin, mcp_session_id, request_id } = ctx.input;
    const finished = performance.now();
    return JSON.stringify({
      finished_at: new Date().toISOString(),
      outcome: ending.outcome,
      error_kind: ending.error?.kind,
      reason: ending.error?.reason,
      gate: ending.gate,
      error_code: ending.error_code,
      mode: ctx.mode,
      decision: ctx.decision,
      source: ctx.source,
      classes: ctx.classes,
      approved_by: ctx.approved_by,
      remembered_rule: ctx.remembered_rule,
      duration_ms: rounded(finished - ctx.started),
      result_bytes: ending.result_bytes,
      caller_role: caller.role || undefined,
      caller_pool: caller.pool || undefined,
      caller_email_hash: caller.email === '' ? 'anon' : this.#emailHash(caller),
      scope_used: ctx.tool?.required_scopes.join(' ') || undefined,
      protocol_version: revision,
      origin,
      mcp_session_id,
      dev_bypass: caller.dev_bypass || undefined,
      request_id,
      replica: this.options.replica,
      catalog_version: this.options.catalogVersion(),
    }).slice(1, -1);
  }

  readonly #emailHashes = new WeakMap<object, string>();
  #emailHash(caller: CallContext['input']['caller']): string {
    let hashed = this.#emailHashes.get(caller);
    if (hashed === undefined) this.#emailHashes.set(caller, (hashed = this.hash(caller.email.toLowerCase())));
    return hashed;
  }

  #publish(subject: string, body: string): void {
    if (this.open) return this.options.bus.publish(subject, body);
    this.#pending.push({ subject, body });
    if (this.#pending.length <= MAX_PENDING) return;
    this.#pending.shift();
    this.options.metrics.auditDropped.inc();
  }

  #drainPending(): void {
    if (!this.open) return;
    for (const { subject, body } of this.#pending.splice(0)) this.options.bus.publish(subject, body);
  }

  /** With the first record that is not taken the edge closes for tool calls, and tries once a second whether that is over. */
  #close(error: unknown): void {
    const wire = isCortexError(error) ? error : undefined;
    // Over the limit of calls that wait at once: ours to wait, nothing of JetStream's.
    if (wire?.kind === 'resource_exhausted' || this.#closed) return;
    this.#closed = true;
    this.options.log.error(
      { error: (error as Error).message },
      'JetStream takes no call records; closed for tool calls',
    );
    this.#probe = setInterval(() => void this.#tryAgain(), PROBE_MS).unref();
  }

  #reopen(): void {
    if (!this.#closed) return;
    this.#closed = false;
    clearInterval(this.#probe);
    this.options.log.info({}, 'JetStream takes call records again; open for tool calls');
    this.#drainPending();
  }

  async #tryAgain(): Promise<void> {
    const { bus, replica } = this.options;
    if (this.#probing || !bus.up) return;
    this.#probing = true;
    try {
      const body = {
        type: 'RequestRecorded',
        call_id: callId(),
        at: new Date().toISOString(),
        method: '_probe',
        caller_sub: SELF,
        client_id: '',
        params_hash: null,
        outcome: 'succeeded',
        duration_ms: 0,
        result_bytes: 0,
        transport: 'bus',
        era: 'modern',
        replica,
      };
      await bus.publishAcked(subjects.call(SELF, REQUEST_RECORD), JSON.stringify(body), { timeoutMs: FIRST_TRY_MS });
      this.#reopen();
    } catch (error) {
      this.options.log.debug({ error: (error as Error).message }, 'still no call records taken');
    } finally {
      this.#probing = false;
    }
  }
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
