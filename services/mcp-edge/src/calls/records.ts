import type { Bus } from '@cortex/bus';
import type { Lines } from '@cortex/service-kit';
import { AUTH_FAILURE_RECORD, isCortexError, REQUEST_RECORD, subjects } from '@cortex/contracts';
import type { EdgeMetrics } from '../metrics.js';
import type { EdgeLog, RequestNote } from '../seams.js';
import type { CallContext } from './call-context.js';
import { callId, isoNow } from './ids.js';
import { auditLine, type Ending, json, type RecordedCaller, type RecordedRequest, RecordText } from './record-text.js';

const SELF = 'mcp-edge';
const MAX_PENDING = 10_000;
const FIRST_TRY_MS = 1_000;
const PAUSE_MS = 100;
const PROBE_MS = 1_000;
/** For so long a call waits for what has just gone: a connection that is made again, a stream that elects another leader. */
const PAUSE_LIMIT_MS = 2_000;
/** The edge itself, when it looks whether records are taken again. */
const PROBE: RecordedCaller = { sub: SELF, client_id: '', role: '', pool: '', email: '', dev_bypass: false };

export interface RecordsOptions {
  bus: Bus;
  log: EdgeLog;
  metrics: EdgeMetrics;
  auditHashKey: string;
  /** Name of this replica in the records. */
  replica: string;
  catalogVersion: () => number;
  /** Where each record stands as a line too. */
  lines: Lines;
}

/**
 * The records of everything that was asked. `Started` and the request leave on one connection in that order, so no service sees a call
 * whose start is not at the broker; `Finished` is acknowledged before the answer goes out. While JetStream takes nothing, `open` is false
 * and no call is run.
 */
export class Records {
  /** Milliseconds for which the record of an ended call is tried again while its answer waits; shorter in tests. */
  keepTryingMs = 10_000;
  #closed = false;
  #probing = false;
  #probe: NodeJS.Timeout | undefined;
  /** While it is not open. */
  #pause: { readonly over: Promise<boolean>; end(open: boolean): void } | undefined;
  readonly #pending: { subject: string; body: string }[] = [];
  readonly #offStatus: () => void;

  readonly text: RecordText;

  constructor(private readonly options: RecordsOptions) {
    this.text = new RecordText(options.auditHashKey, options.replica, options.catalogVersion);
    this.#offStatus = options.bus.onStatus((up) => {
      this.#changed();
      if (up) this.#drainPending();
    });
  }

  get open(): boolean {
    return this.options.bus.up && !this.#closed;
  }

  /** Whether a call may run, told when that is clear: who comes within two seconds after it closed waits, whoever comes later does not. */
  opened(): boolean | Promise<boolean> {
    return this.open || (this.#pause?.over ?? false);
  }

  #changed(): void {
    if (this.open) {
      this.#pause?.end(true);
      this.#pause = undefined;
    } else if (this.#pause === undefined) {
      const { promise: over, resolve: end } = Promise.withResolvers<boolean>();
      setTimeout(() => end(false), PAUSE_LIMIT_MS).unref();
      this.#pause = { over, end };
    }
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

  /** Published without an acknowledgement; what was lost of it stands in `Finished` again. */
  started(ctx: CallContext): void {
    const { fields, subject } = this.#shared(ctx);
    this.options.bus.publish(subject, this.text.started(ctx, fields));
  }

  /** Resolves when the record is stored; false when it could not be in time. */
  async finished(ctx: CallContext, ending: Ending): Promise<boolean> {
    const { bus } = this.options;
    const { fields, subject } = this.#shared(ctx);
    const body = this.text.finished(ctx, fields, ending);
    this.#line(auditLine(body, ending.outcome, 'tools/call'));
    try {
      // No message id at the first try: it costs the broker more, and nearly every first try succeeds.
      await bus.publishAcked(subject, body, { timeoutMs: FIRST_TRY_MS });
      return true;
    } catch (error) {
      this.#close(error);
    }
    const until = performance.now() + this.keepTryingMs;
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

  /** A call that was refused before it ran because no record can be taken: there is the line alone. */
  unrecorded(ctx: CallContext, ending: Ending): void {
    this.#line(auditLine(this.text.finished(ctx, this.#shared(ctx).fields, ending), ending.outcome, 'tools/call'));
  }

  /** One record of a request that is no tool call. Never delays or fails an answer. */
  request(exchange: RecordedRequest, note: RequestNote): void {
    const body = this.text.request(exchange, note);
    this.#line(auditLine(body, note.outcome));
    this.#publish(subjects.call(SELF, REQUEST_RECORD), body);
  }

  /** A refused authentication; without a byte of the token. */
  authFailure(fields: {
    reason: string;
    ip: string;
    origin?: string | undefined;
    request_id: string;
    /** Of the caller's own trace. */
    trace_id?: string | undefined;
  }): void {
    const { reason, ip, origin, request_id, trace_id } = fields;
    const said = {
      call_id: callId(),
      at: isoNow(),
      reason,
      ip_hash: this.text.hash(ip),
      origin,
      request_id,
      trace_id,
    };
    this.#line(json({ _type: 'cortex_auth_failure', ...said }));
    this.#publish(subjects.call(SELF, AUTH_FAILURE_RECORD), json({ type: 'AuthenticationRefused', ...said }));
  }

  #line = (line: string): void => this.options.lines.write(line);

  #shared = (ctx: CallContext): { fields: string; subject: string } => (ctx.record ??= this.text.shared(ctx));

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
    // Over the limit of calls that wait at once: ours to wait, nothing of JetStream's. Nor is a connection that was lost.
    if (wire?.kind === 'resource_exhausted' || this.#closed || !this.options.bus.up) return;
    this.#closed = true;
    this.#changed();
    this.options.log.error(
      { error: (error as Error).message },
      'JetStream takes no call records; closed for tool calls',
    );
    this.#probe = setInterval(() => void this.#tryAgain(), PROBE_MS).unref();
  }

  #reopen(): void {
    if (!this.#closed) return;
    this.#closed = false;
    this.#changed();
    clearInterval(this.#probe);
    this.options.log.info({}, 'JetStream takes call records again; open for tool calls');
    this.#drainPending();
  }

  async #tryAgain(): Promise<void> {
    const { bus } = this.options;
    if (this.#probing || !bus.up) return;
    this.#probing = true;
    try {
      const body = this.text.request(
        { caller: PROBE, headers: {}, started: performance.now(), request_id: callId() },
        { method: '_probe', era: 'modern', outcome: 'succeeded', result_bytes: 0, transport: 'bus' },
      );
      await bus.publishAcked(subjects.call(SELF, REQUEST_RECORD), body, { timeoutMs: FIRST_TRY_MS });
      this.#reopen();
    } catch (error) {
      this.options.log.debug({ error: (error as Error).message }, 'still no call records taken');
    } finally {
      this.#probing = false;
    }
  }
}
