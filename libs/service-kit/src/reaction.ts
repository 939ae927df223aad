import type { BusRequest } from '@cortex/contracts';
import { NO_WORKSPACE } from '@cortex/contracts';
import {
  defineReactor as defineStoredReactor,
  type EventShape,
  type Of,
  type Reactor,
  type ReactorContext,
  type ReactorSpec,
  type Recorded,
} from '@cortex/eventstore';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { Call } from './call.js';
import type { ToolContext } from './context.js';
import type { ServiceHost } from './host.js';
import { Flight } from './in-flight.js';
import { contextOf } from './telemetry.js';

/**
 * What a reactor may do with an event, in its workspace and in the name of the service. Commits and ids are made of the
 * event, so that an event that comes again meets what its first delivery did.
 */
export interface ReactionContext extends Pick<
  ToolContext,
  'now' | 'newId' | 'workspace' | 'execute' | 'load' | 'read' | 'ask' | 'get' | 'log'
> {
  /** Aborts when the service stops: the event will come again. */
  readonly signal: AbortSignal;
  /** How often this commit has been delivered, 1 for the first time. */
  readonly delivery: number;
}

export interface ReactionSpec<Event extends EventShape> extends Omit<ReactorSpec<Event>, 'on'> {
  /** May be called again with the same event. What throws is tried again. */
  on: { [Type in Event['type']]?: (event: Of<Event, Type>, ctx: ReactionContext) => Promise<unknown> };
}

/** Declares what reacts to events with effects (a wake, a mail, a command to another service). Never run by a rebuild. */
export const defineReactor = <Event extends EventShape>(spec: ReactionSpec<Event>): Reactor<Event> =>
  // The host gives every handler the larger context.
  defineStoredReactor(spec as unknown as ReactorSpec<Event>);

/** How long a reaction may ask another service. */
const ASK_MS = 30_000;

/** The reactor with its handlers called by the kit: context, span, and the event as the cause of what they do. */
export function hosted(host: ServiceHost, reactor: Reactor): Reactor {
  const on = Object.fromEntries(
    Object.entries(reactor.on).map(([type, handle]) => [
      type,
      (event: EventShape & Recorded, ctx: ReactorContext) =>
        react(host, reactor.name, event, ctx, handle as unknown as Handler),
    ]),
  );
  return { ...reactor, on };
}

type Handler = (event: EventShape & Recorded, ctx: ReactionContext) => Promise<unknown>;

async function react(
  host: ServiceHost,
  name: string,
  event: EventShape & Recorded,
  ctx: ReactorContext,
  handle: Handler,
) {
  const parent = contextOf(event.traceparent);
  const span = host.tracer.startSpan(`react ${name}`, { kind: SpanKind.CONSUMER }, parent);
  // A reaction may take as long as it needs; each of its questions has the time that the request says.
  const flight = new Flight(event.commit_id, Infinity);
  const abort = () => flight.abort(ctx.signal.reason);
  if (ctx.signal.aborted) abort();
  ctx.signal.addEventListener('abort', abort);
  const call = new Call(host, requestOf(name, event), name, flight, span, trace.setSpan(parent, span), event.commit_id);
  const reaction = Object.assign(call, { delivery: ctx.delivery });
  try {
    await context.with(call.spanContext, () => handle(event, reaction));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    ctx.signal.removeEventListener('abort', abort);
    span.end();
  }
}

/** A reaction is a call of the service to itself, keyed by the event. */
const requestOf = (name: string, event: Recorded): BusRequest => ({
  v: 1,
  call_id: event.correlation_id ?? event.commit_id,
  workspace_id: event.workspace === NO_WORKSPACE ? null : event.workspace,
  principal: { type: 'system', id: name, roles: [] },
  scope: {
    ...(event.session_id !== undefined && { session_id: event.session_id }),
    ...(event.project !== undefined && { project: event.project }),
  },
  args: {},
  after: event.seq,
  deadline_ms: ASK_MS,
  idempotency_key: `${event.commit_id}.${event.index}`,
  caller: name,
  ...(event.traceparent !== undefined && { traceparent: event.traceparent }),
});
