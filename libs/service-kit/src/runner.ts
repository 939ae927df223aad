import {
  cancelled,
  failedPrecondition,
  internal,
  invalidArgument,
  notFound,
  type BusReply,
  type BusRequest,
  type ToolReplyHead,
  type WireError,
} from '@cortex/contracts';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Counter, Histogram } from 'prom-client';
import { Call, STALE } from './call.js';
import type { ToolContext } from './context.js';
import type { Endpoint } from './endpoint.js';
import { answerOf } from './faults.js';
import type { ServiceHost } from './host.js';
import { InFlight } from './in-flight.js';
import type { CallKind } from './metrics.js';
import { contextOf } from './telemetry.js';
import { ToolResult, Waiting, type Answer, type Tool } from './tool.js';

export interface ToolReply {
  head: ToolReplyHead;
  /** Result members as the edge splices them, `"content":[…],"structuredContent":{…}`; empty with `wait` and errors. */
  body: string;
}

export interface ToolOptions {
  /** Before the handler runs: the edge binds what its built-ins need beside the context. */
  prepare?: (ctx: ToolContext) => void;
  /** Ends the call as a cancel on the bus does. */
  signal?: AbortSignal;
}

/** One of the service's own tools, run without the bus, as the edge does with its built-ins. Never rejects. */
export const runTool = (
  host: ServiceHost,
  tool: Tool,
  request: BusRequest,
  options?: ToolOptions,
): Promise<ToolReply> => host.transport.runner.tool(tool, request, options);

/** Runs the calls of one service: checks, deadline, span, metrics and errors around each handler. */
export class CallRunner {
  readonly inFlight = new InFlight();
  readonly #meters = new Map<string, Meter>();

  constructor(readonly host: ServiceHost) {}

  async tool(tool: Tool, request: BusRequest, { prepare, signal }: ToolOptions = {}): Promise<ToolReply> {
    const cancel = () => this.inFlight.cancel(request.call_id);
    signal?.addEventListener('abort', cancel);
    const ran = await this.#run('tool', tool.name, request, async (call) => {
      if (signal?.aborted) throw cancelled(undefined, 'the call was cancelled', 'call again if it is still wanted');
      precheck(tool, request);
      const args = tool.arguments.check(request.args);
      prepare?.(call);
      return written(tool, await tool.handle(args, call), call);
    });
    signal?.removeEventListener('abort', cancel);
    return ran.ok ? ran.value : { head: { ok: false, error: ran.error, ...lastSeq(ran.call) }, body: '' };
  }

  async endpoint(endpoint: Endpoint, request: BusRequest): Promise<BusReply> {
    const ran = await this.#run(endpoint.kind, endpoint.name, request, (call) =>
      endpoint.handle(endpoint.arguments.check(request.args), call),
    );
    if (!ran.ok) return { ok: false, error: ran.error };
    return { ok: true, data: ran.value ?? null, ...lastSeq(ran.call) };
  }

  /** What a person is shown before a tool of this service may run. Nothing is changed by it. */
  async approvalPayload(tools: ReadonlyMap<string, Tool>, request: BusRequest): Promise<BusReply> {
    const ran = await this.#run('query', 'approval_payload', request, async (call) => {
      const tool = tools.get(request.tool ?? '');
      if (!tool) throw notFound('tool', 'is unknown', 'name a tool of this service');
      if (!tool.approval) throw invalidArgument('tool', 'asks nobody', 'call it as it is');
      return tool.approval(tool.arguments.check(request.args), call);
    });
    return ran.ok ? { ok: true, data: ran.value } : { ok: false, error: ran.error };
  }

  async #run<T>(
    kind: CallKind,
    name: string,
    request: BusRequest,
    work: (call: Call) => T | Promise<T>,
  ): Promise<Ran<T>> {
    const { host } = this;
    const meter = this.#meter(kind, name);
    const started = performance.now();
    let flight;
    try {
      flight = this.inFlight.begin(request.call_id, request.deadline_ms);
    } catch (error) {
      const wire = answerOf(error, request.call_id, host.log.child({ call_id: request.call_id }));
      meter.count(wire.kind, started);
      return { ok: false, error: wire };
    }
    const parent = contextOf(request.traceparent);
    const span = host.tracer.startSpan(
      `${kind} ${name}`,
      {
        kind: SpanKind.SERVER,
        attributes: { 'cortex.service': host.definition.name, 'cortex.call_id': request.call_id },
      },
      parent,
    );
    const call = new Call(host, request, name, flight, span, trace.setSpan(parent, span));
    // The caller is answered at once when its call ends early; the handler has `signal`, and the drain still waits for it.
    // Listened to before the work begins, which may find its call ended already.
    const ended = new Promise<never>((_, reject) => (flight.onEnd = reject));
    const working = context.with(call.spanContext, async () => work(call));
    void working.then(
      () => this.inFlight.done(flight),
      () => this.inFlight.done(flight),
    );
    try {
      const value = await Promise.race([working, ended]);
      meter.count('ok', started);
      return { ok: true, value, call };
    } catch (error) {
      const wire = answerOf(error, request.call_id, call.log);
      meter.count(wire.kind, started);
      span.setStatus({ code: SpanStatusCode.ERROR, message: wire.kind });
      return { ok: false, error: wire, call };
    } finally {
      span.end();
    }
  }

  #meter(kind: CallKind, name: string): Meter {
    let meter = this.#meters.get(`${kind} ${name}`);
    if (!meter) {
      const labels = { service: this.host.definition.name, kind, name };
      meter = new Meter(this.host.metrics.calls, this.host.metrics.seconds, labels);
      this.#meters.set(`${kind} ${name}`, meter);
    }
    return meter;
  }
}

type Ran<T> = { ok: true; value: T; call: Call } | { ok: false; error: WireError; call?: Call };

const lastSeq = (call: Call | undefined) => (call?.lastSeq === undefined ? {} : { last_seq: call.lastSeq });

/** What the edge's gates have seen to already; a service that trusted them alone would be open to a broken edge. */
function precheck(tool: Tool, request: BusRequest): void {
  if (tool.workspace === 'required' && !request.workspace_id) {
    throw invalidArgument('workspace_id', 'is missing', 'name a workspace', { reason: 'workspace_required' });
  }
  if (tool.session && request.scope.session_id === undefined) {
    throw failedPrecondition(undefined, `${tool.name} needs an agent session`, 'call it from within one', {
      reason: 'no_session',
    });
  }
  if (tool.approval && request.approval === undefined) {
    throw failedPrecondition(undefined, `${tool.name} needs an approval`, 'have a person approve the call', {
      reason: 'approval_required',
    });
  }
}

/** The one place where a result becomes JSON. A result that is not what the tool's output says is our bug. */
function written(tool: Tool, answer: Answer<unknown>, call: Call): ToolReply {
  if (answer instanceof Waiting) return { head: { ok: true, ...lastSeq(call), wait: answer.wait }, body: '' };
  const { data, options } =
    answer instanceof ToolResult ? answer : { data: answer, options: {} as ToolResult<unknown>['options'] };
  const checked = tool.output.safeParse(data);
  if (!checked.success) {
    const paths = checked.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.code}`);
    throw internal(undefined, `the result of ${tool.name} is not what its output says`, 'report the call id', {
      details: { call_id: call.call_id },
      cause: new Error(paths.join(', ')),
    });
  }
  const json = JSON.stringify(checked.data);
  const content =
    options.content === undefined
      ? `[{"type":"text","text":${JSON.stringify(json)}}]`
      : JSON.stringify(options.content);
  const meta = call.stale ? { ...options.meta, [STALE]: true } : options.meta;
  return {
    head: { ok: true, ...lastSeq(call), ...(options.isError && { is_error: true as const }), ...(meta && { meta }) },
    body: `"content":${content},"structuredContent":${json}`,
  };
}

/** Counter and histogram of one name, their labels bound once. */
class Meter {
  readonly #outcomes = new Map<string, Counter.Internal>();
  readonly #seconds: Histogram.Internal<string>;

  constructor(
    readonly calls: Counter,
    seconds: Histogram,
    readonly labels: { service: string; kind: string; name: string },
  ) {
    this.#seconds = seconds.labels(labels);
  }

  count(outcome: string, started: number): void {
    let counter = this.#outcomes.get(outcome);
    if (!counter) this.#outcomes.set(outcome, (counter = this.calls.labels({ ...this.labels, outcome })));
    counter.inc();
    this.#seconds.observe((performance.now() - started) / 1000);
  }
}
