import { ask, traceparentOf } from '@cortex/bus';
import { isCortexError, NO_WORKSPACE, type BusRequest, type CallScope, type Principal } from '@cortex/contracts';
import {
  tenantDb,
  waitFor,
  type CommitContext,
  type Decider,
  type EventShape,
  type Projection,
} from '@cortex/eventstore';
import type { Type } from '@nestjs/common';
import { context, isValidTraceId, SpanKind, SpanStatusCode, trace, type Context, type Span } from '@opentelemetry/api';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { ToolContext } from './context.js';
import type { ServiceHost } from './host.js';
import { idsOf, type CallIds } from './ids.js';
import type { Flight } from './in-flight.js';
import { Waiting } from './tool.js';

/** Key of a reply's `_meta` that says a view was more than 2 s behind. */
export const STALE = 'cortex/stale';

/** The context of one try of one call, and what the kit keeps of it for the reply. */
export class Call implements ToolContext {
  /** Highest sequence that this call committed. */
  lastSeq: number | undefined;
  /** Whether a view was behind. */
  stale = false;
  readonly #at = new Date().toISOString();
  #ids: CallIds | undefined;
  #log: Logger | undefined;

  constructor(
    readonly host: ServiceHost,
    readonly request: BusRequest,
    readonly name: string,
    readonly flight: Flight,
    readonly span: Span,
    readonly spanContext: Context,
    /** What its commits name as their cause: the call, or the commit that a reactor answers. */
    readonly cause = request.call_id,
  ) {}

  now(): string {
    return this.#at;
  }
  newId(prefix?: string): string {
    return this.#idSource.next(prefix);
  }
  get caller(): Principal {
    return this.request.principal;
  }
  get scope(): CallScope {
    return this.request.scope;
  }
  get workspace(): string | null {
    return this.request.workspace_id;
  }
  get call_id(): string {
    return this.request.call_id;
  }
  get mode(): string | undefined {
    return this.request.mode;
  }
  get resume(): boolean {
    return this.request.resume === true;
  }
  get approval(): BusRequest['approval'] {
    return this.request.approval;
  }
  get signal(): AbortSignal {
    return this.flight.signal;
  }
  get deadline_ms(): number {
    const left = Math.round(this.flight.deadline - performance.now());
    return Math.min(this.request.deadline_ms, Math.max(0, left));
  }
  get log(): Logger {
    return (this.#log ??= this.host.log.child({ call_id: this.call_id, call: this.name, ...this.#traceIds() }));
  }
  get<T>(provider: Type<T> | symbol | string): T {
    return this.host.get(provider);
  }

  async execute<Command, Event extends EventShape, State>(
    decider: Decider<Command, Event, State>,
    id: string,
    command: Command,
    options: { workspace?: string | null; scope?: Pick<CallScope, 'session_id' | 'project'> } = {},
  ): Promise<{ seq: number; events: readonly Event[] }> {
    const workspace = options.workspace === undefined ? this.workspace : options.workspace;
    return this.#spanned(`commit ${decider.subject}`, SpanKind.PRODUCER, async (span) => {
      const { name: service } = this.host.definition;
      if (!decider.subject.startsWith(`${service}.`))
        throw new Error(`decider "${decider.subject}" is none of ${service}; its subject begins with "${service}."`);
      const executed = await this.host.store.execute(
        decider,
        workspace,
        id,
        command,
        this.#commitContext(span, options.scope),
      );
      // Nothing recorded counts too: the caller has seen the state as of that sequence.
      this.lastSeq = Math.max(this.lastSeq ?? 0, executed.seq);
      span.setAttributes({ 'cortex.seq': executed.seq, 'cortex.events': executed.events.length });
      return { seq: executed.seq, events: executed.events as unknown as Event[] };
    });
  }

  load<Command, Event extends EventShape, State>(
    decider: Decider<Command, Event, State>,
    id: string,
    options: { workspace?: string | null } = {},
  ): Promise<{ state: State; seq: number }> {
    return this.host.store.load(decider, options.workspace === undefined ? this.workspace : options.workspace, id);
  }

  async read<Event extends EventShape, Db>(projection: Projection<Event, Db>, after = 0): Promise<Kysely<Db>> {
    const { bus, pool, projections: runner } = this.host;
    // A view of another context never meets what this service wrote; one that follows the event of a reaction does.
    const own = projection.subject.startsWith(`cortex.evt.${this.host.definition.name}.`);
    const told = own || this.cause !== this.call_id ? (this.request.after ?? 0) : 0;
    const seq = Math.max(own ? (this.lastSeq ?? 0) : 0, told, after);
    if (seq > 0) {
      try {
        await waitFor({ bus, pool, runner, projection, seq, signal: this.signal });
      } catch (error) {
        // A view that is behind still answers, and the answer says so; a call that has ended does not.
        if (this.signal.aborted || !isCortexError(error) || error.kind !== 'unavailable') throw error;
        this.stale = true;
        this.log.warn({ projection: projection.name, seq }, 'a view is behind; answered with what it has');
      }
    }
    return tenantDb<Db>(pool, this.workspace ?? NO_WORKSPACE);
  }

  async ask<T = unknown>(subject: string, args: Record<string, unknown>): Promise<T> {
    const key = this.#idSource.ask();
    return this.#spanned(`ask ${subject}`, SpanKind.CLIENT, async (span) => {
      const { data } = await ask(
        this.host.bus,
        subject,
        {
          v: 1,
          call_id: this.call_id,
          workspace_id: this.workspace,
          principal: this.caller,
          scope: this.scope,
          ...(this.mode !== undefined && { mode: this.mode }),
          args,
          deadline_ms: this.deadline_ms,
          idempotency_key: key,
          ...(this.request.caller !== undefined && { caller: this.request.caller }),
          ...this.#traceparent(span),
        },
        this.signal,
      );
      return data as T;
    });
  }

  wait(until: { subject: string; after: number; until: string; poll_ms?: number }): Waiting {
    return new Waiting(until);
  }

  /** With an SDK the log takes them from the active span; without one only the call knows its trace. */
  #traceIds(): { trace_id?: string; span_id?: string } {
    if (trace.getActiveSpan()) return {};
    const { traceId, spanId } = this.span.spanContext();
    return isValidTraceId(traceId) ? { trace_id: traceId, span_id: spanId } : {};
  }

  get #idSource(): CallIds {
    return (this.#ids ??= idsOf(this.request, this.name));
  }

  #commitContext(span: Span, scope = this.request.scope): CommitContext {
    const { principal } = this.request;
    return {
      commitId: this.#idSource.commit(),
      at: this.#at,
      actor: { kind: principal.type, id: principal.id },
      ...(scope.session_id !== undefined && { session_id: scope.session_id }),
      ...(scope.project !== undefined && { project: scope.project }),
      correlation_id: this.call_id,
      causation_id: this.cause,
      ...this.#traceparent(span),
      signal: this.signal,
    };
  }

  #traceparent(span: Span): { traceparent?: string } {
    const traceparent = traceparentOf(span.spanContext());
    return traceparent === undefined ? {} : { traceparent };
  }

  async #spanned<T>(name: string, kind: SpanKind, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.host.tracer.startSpan(name, { kind }, this.spanContext);
    try {
      return await context.with(trace.setSpan(this.spanContext, span), work, undefined, span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: isCortexError(error) ? error.kind : 'internal' });
      throw error;
    } finally {
      span.end();
    }
  }
}
