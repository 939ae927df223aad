import { type CortexError, isCortexError, unavailable, type WireError } from '@cortex/contracts';
import { type Bus, isCutOff } from '@cortex/bus';
import { traceparentOf } from '@cortex/bus/trace';
import { contextOf } from '@cortex/service-kit/telemetry';
import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { EdgeTool } from '../catalog/edge-tool.js';
import { type RpcError, rpcErrorOf } from '../federation/failures.js';
import type { Federation } from '../federation/federation.js';
import type { EdgeMetrics } from '../metrics.js';
import {
  type CallInput,
  type CallOutcome,
  type Cancellation,
  cancelledByCaller,
  type EdgeLog,
  type RunCall,
} from '../seams.js';
import { beginCall, type CallContext, type Refusal } from './call-context.js';
import { askService, type Delivered, isNotSent, type Reply, sendCancel } from './dispatch.js';
import { GATES, type GateWorld } from './gates.js';
import type { Idempotency } from './idempotency.js';
import type { KeptMedia } from './kept-media.js';
import { callId, randomHex16 } from './ids.js';
import { LastSeqs } from './last-seqs.js';
import type { LocalTools } from './local-tools.js';
import type { Ending } from './record-text.js';
import type { Records } from './records.js';
import { faultMembers, faultMeta, outcomeOf, publicError } from './refusals.js';
import { waitForEvent } from './wait.js';

export interface CallPipelineOptions {
  bus: Bus;
  log: EdgeLog;
  tracer: Tracer;
  metrics: EdgeMetrics;
  world: GateWorld;
  records: Records;
  idempotency: Idempotency;
  media: Pick<KeptMedia, 'heavy' | 'linked'>;
  local: LocalTools;
  federation: Pick<Federation, 'ask' | 'cancel'>;
}

const SERVER_SPAN = { kind: SpanKind.SERVER };
const SLOW_MS = 2_000;
/** Of the calls that are as they should be, one in so many is logged: the record is the line per call. */
const LOG_ONE_IN = 100;

/** The only place where a tool is run: the gates in their order, the dispatch, the record. */
export class CallPipeline {
  readonly #lastSeqs = new LastSeqs();
  #inFlight = 0;
  #logged = 0;

  constructor(private readonly options: CallPipelineOptions) {}

  get inFlight(): number {
    return this.#inFlight;
  }

  readonly runCall: RunCall = async (input) => {
    const ctx = this.#begin(input);
    this.#inFlight++;
    try {
      if (!this.options.records.open && !(await this.options.records.opened())) return this.#closed(ctx);
      for (const [name, gate] of GATES) {
        const result = gate(ctx, this.options.world);
        const refusal = result instanceof Promise ? await result : result;
        if (refusal !== undefined) return await this.#refused(ctx, name, refusal);
      }
      return await this.#dispatched(ctx);
    } catch (error) {
      // Our own bug: a gate or the dispatch threw what is no answer.
      this.options.log.error({ call_id: ctx.call_id, tool: input.name, error }, 'a call broke the edge');
      return await this.#faulty(ctx, publicError(error, ctx.call_id), 'failed');
    } finally {
      this.#inFlight--;
      ctx.span.end();
    }
  };

  #begin(input: CallInput): CallContext {
    const call_id = callId();
    const span = this.options.tracer.startSpan('tools/call', SERVER_SPAN, contextOf(input.meta.traceparent));
    // Nine of ten are not sampled, and attributes cost as much as the span.
    if (span.isRecording())
      span.setAttributes({
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': input.name.slice(0, 128),
        'mcp.protocol.version': input.revision,
        'cortex.call_id': call_id,
      });
    const { traceId } = span.spanContext();
    const known = traceparentOf(span.spanContext());
    // Without an SDK and without a caller's trace the ids are made here: they join the records all the same.
    const trace_id = known === undefined ? randomHex16() + randomHex16() : traceId;
    return beginCall(input, call_id, span, trace_id, known ?? `00-${trace_id}-${randomHex16()}-00`);
  }

  async #dispatched(ctx: CallContext): Promise<CallOutcome> {
    const { tool, input } = ctx;
    if (tool === undefined) throw new Error('the gates let a call pass without a tool');
    const { records, idempotency } = this.options;
    // A gate may have waited: what was true at the beginning is asked again right before the request leaves.
    if (!records.open && !(await records.opened())) return this.#closed(ctx);
    const key = input.meta.idempotency_key;
    try {
      if (input.cancel.cancelled) throw cancelledByCaller();
      const work = (): Promise<Delivered> => this.#execute(ctx, tool);
      // What the edge itself shows depends on rights that no gate asks for: a repeat looks again (threat T17).
      const repeatable = key === undefined || tool.local?.tier === 'read';
      const delivered = repeatable ? await work() : await idempotency.run(ctx, tool, key, work);
      const { members, is_error, meta, fault, result_type } = delivered;
      const ending: Ending = {
        outcome: is_error ? 'failed' : 'succeeded',
        result_bytes: members.length,
        ...(is_error && { error_code: 'tool_error' }),
        ...(fault !== undefined && { error: fault }),
      };
      const stored = await this.#record(ctx, ending);
      if (!stored) return this.#unrecorded(ctx);
      return {
        kind: 'result',
        members,
        is_error,
        ...(result_type !== undefined && { result_type }),
        ...(tool.federated !== undefined && { wraps: tool.listing.wraps }),
        ...(meta !== undefined && { meta }),
        call_id: ctx.call_id,
      };
    } catch (error) {
      if (!isCortexError(error)) throw error;
      // No service of ours speaks of the protocol.
      const rpc = (tool.federated ?? tool.local) && rpcErrorOf(error);
      if (rpc !== undefined) return await this.#rpcFault(ctx, error, rpc);
      return await this.#faulty(ctx, publicError(error, ctx.call_id), outcomeOf(error.toWire()));
    }
  }

  /** Sends the call, again after each wait, until it has an answer. */
  async #execute(ctx: CallContext, tool: EdgeTool): Promise<Delivered> {
    const { bus, records, media } = this.options;
    const { cancel, caller } = ctx.input;
    records.started(ctx);
    try {
      for (let resume = false; ; resume = true) {
        const reply = await this.#answered(ctx, tool, resume);
        if (reply.last_seq !== undefined) this.#lastSeqs.note(caller.caller_hash, tool.service, reply.last_seq);
        if (!('wait' in reply)) {
          // The tools of the edge itself show what is kept; linked again it would never be shown.
          const whole = tool.local !== undefined || !media.heavy(reply);
          return whole ? reply : await media.linked(reply, tool.name, caller);
        }
        await waitForEvent(bus, reply.wait, cancel);
        if (cancel.cancelled) throw cancelledByCaller();
      }
    } catch (error) {
      if (cancel.cancelled) this.#tellService(ctx, tool);
      throw error;
    }
  }

  /**
   * The answer to one try. What changes nothing, or is known again by its key, is sent a second time within its deadline when it was lost.
   * When one of several instances dies only what changes nothing is: a write may be at work at another one, and what that answers counts.
   */
  async #answered(ctx: CallContext, tool: EdgeTool, resume: boolean): Promise<Reply> {
    const { cancel, meta } = ctx.input;
    const own = tool.local === undefined && tool.federated === undefined;
    const reads = own && tool.announced.tier === 'read';
    const twice = reads || (own && meta.idempotency_key !== undefined);
    const began = performance.now();
    try {
      return await this.#whileWanted(tool, cancel, this.#ask(ctx, tool, resume), reads);
    } catch (error) {
      const left = Math.round(tool.announced.deadline_ms - (performance.now() - began));
      if (!twice || left <= 0 || cancel.cancelled || !isCutOff(error)) throw error;
      const again = this.#whileWanted(tool, cancel, this.#ask(ctx, tool, resume, left));
      // That the second came to nobody says nothing of the first.
      return await again.catch((failure: unknown) => Promise.reject(isNotSent(failure) ? error : failure));
    }
  }

  #ask(ctx: CallContext, tool: EdgeTool, resume: boolean, deadline = tool.announced.deadline_ms): Promise<Reply> {
    if (tool.local !== undefined) return this.options.local.ask(ctx, tool.local, resume);
    if (tool.federated !== undefined) return this.options.federation.ask(ctx, tool.federated);
    const after = this.#lastSeqs.get(ctx.input.caller.caller_hash, tool.service);
    return askService(this.options.bus, ctx, tool, { resume, after, deadline });
  }

  /**
   * Ends when the caller goes or when the service is dead; a late answer then finds nobody. `early`: when one of the instances is that may
   * have the call. Its functions must not reach the call: measured, all that a call allocates would then live until the next full collection.
   */
  #whileWanted<T>(tool: EdgeTool, cancel: Cancellation, work: Promise<T>, early = false): Promise<T> {
    return new Promise((resolve, reject) => {
      cancel.onCancel = reject;
      const letGo =
        tool.local === undefined && tool.federated === undefined
          ? this.options.world.catalog.instances.hold(tool.service, () => reject(abandoned(tool)), { early })
          : undefined;
      work.then(
        (value) => {
          cancel.onCancel = undefined;
          letGo?.();
          resolve(value);
        },
        (error: Error) => {
          cancel.onCancel = undefined;
          letGo?.();
          reject(error);
        },
      );
    });
  }

  #tellService(ctx: CallContext, tool: EdgeTool): void {
    if (tool.local !== undefined) this.options.local.cancel(ctx);
    else if (tool.federated !== undefined) this.options.federation.cancel(ctx.call_id);
    else sendCancel(this.options.bus, ctx, tool);
  }

  async #refused(ctx: CallContext, gate: string, refusal: Refusal): Promise<CallOutcome> {
    const { error, rpc, outcome } = refusal;
    if (rpc === undefined) return this.#faulty(ctx, error, outcome, gate);
    const stored = await this.#record(ctx, { outcome, error, gate, error_code: String(rpc.code), result_bytes: 0 });
    if (!stored) return this.#unrecorded(ctx);
    return { kind: 'error', ...rpc, error, call_id: ctx.call_id };
  }

  /** A backend failed in a way for which the protocol has an error of its own. */
  async #rpcFault(
    ctx: CallContext,
    cause: CortexError,
    { code, message, data, status = 200, required_scopes }: RpcError,
  ): Promise<CallOutcome> {
    const error = publicError(cause, ctx.call_id);
    const stored = await this.#record(ctx, {
      outcome: required_scopes === undefined ? outcomeOf(error) : 'denied',
      error,
      error_code: String(code),
      result_bytes: 0,
      ...(required_scopes !== undefined && { gate: 'scope' }),
    });
    if (!stored) return this.#unrecorded(ctx);
    return {
      kind: 'error',
      code,
      message,
      ...(data !== undefined && { data }),
      status,
      ...(required_scopes !== undefined && { required_scopes }),
      error,
      call_id: ctx.call_id,
    };
  }

  async #faulty(ctx: CallContext, error: WireError, outcome: Ending['outcome'], gate?: string): Promise<CallOutcome> {
    const answer = faultAnswer(ctx, error);
    const stored = await this.#record(ctx, {
      outcome,
      error,
      error_code: 'tool_error',
      result_bytes: answer.members.length,
      ...(gate !== undefined && { gate }),
    });
    return stored ? answer : this.#unrecorded(ctx);
  }

  /** Nothing was run, and nothing could be recorded of it either. */
  #closed(ctx: CallContext): CallOutcome {
    this.#count(ctx, 'failed', 'unavailable');
    const error = unavailable(
      undefined,
      'call records cannot be stored now, so nothing was run',
      'try again in a moment',
    ).toWire();
    const answer = faultAnswer(ctx, error);
    const ending = { error, error_code: 'tool_error', result_bytes: answer.members.length };
    this.options.records.unrecorded(ctx, { outcome: 'failed', ...ending });
    return answer;
  }

  #unrecorded(ctx: CallContext): CallOutcome {
    const problem = `the record of call ${ctx.call_id} could not be stored; the call may have run`;
    return faultAnswer(ctx, unavailable(undefined, problem, 'look before you repeat it').toWire());
  }

  async #record(ctx: CallContext, ending: Ending): Promise<boolean> {
    const stored = await this.options.records.finished(ctx, ending);
    this.#count(ctx, ending.outcome, ending.error?.kind, ending.gate);
    return stored;
  }

  #count(ctx: CallContext, outcome: Ending['outcome'], kind?: string, gate?: string): void {
    const { metrics, log } = this.options;
    const duration_ms = performance.now() - ctx.started;
    metrics.tool(ctx.tool?.name).count(outcome, duration_ms);
    if (outcome !== 'succeeded') ctx.span.setStatus({ code: SpanStatusCode.ERROR, message: kind ?? outcome });
    const normal = outcome === 'succeeded' && duration_ms < SLOW_MS;
    if (normal && this.#logged++ % LOG_ONE_IN !== 0) return;
    const { call_id, trace_id, input } = ctx;
    log.info(
      {
        call_id,
        trace_id,
        tool: ctx.tool?.name ?? input.name.slice(0, 128),
        outcome,
        kind,
        gate,
        duration_ms: Math.round(duration_ms),
        era: input.era,
      },
      normal ? 'a call, one in a hundred' : 'a call that was refused, failed or slow',
    );
  }
}

const abandoned = ({ service, name }: EdgeTool): Error =>
  unavailable(
    undefined,
    `${service} ended while ${name} ran, and whether it took effect is unknown`,
    'look before you repeat it, or send it again with the same idempotency key',
    { details: { outcome: 'unknown' } },
  );

const faultAnswer = (ctx: CallContext, error: WireError): Extract<CallOutcome, { kind: 'result' }> => ({
  kind: 'result',
  members: faultMembers(error),
  is_error: true,
  meta: faultMeta(error, ctx.call_id),
  call_id: ctx.call_id,
});
