import { CortexError } from '@cortex/contracts';
import type { GapReport } from '@cortex/contracts/gap';
import { isObject } from '@cortex/contracts/is-object';
import { firstChars } from '@cortex/contracts/text';
import type { ToolContext } from '@cortex/service-kit';
import { bounded } from '../federation/bounded.js';
import { failureOf } from '../federation/failures.js';
import { toldBy } from '../federation/provenance.js';
import type { Shelf } from '../federation/shelf.js';
import type { BackendAnswer } from '../federation/types.js';
import type { EdgeScope } from '../edge-scope.js';
import type { TicketJson } from './ticket-json.js';

const PATIENCE_MS = 10_000;
/** Characters of one text of a ticket that a backend keeps. */
const MAX_TEXT = 4_000;
const MAX_ACK = 1_000;

type Asking = Pick<EdgeScope, 'caller' | 'traceparent' | 'input'>;
type Calling = Pick<ToolContext, 'call_id' | 'signal' | 'log'>;

/** The receipt of a backend. */
export interface TakenTicket {
  ticketId: string;
  deduplicated: boolean;
  /** In the backend's own words. */
  existingStatus?: string;
  ackMessage?: string;
}

/** Files a report with the backend that keeps its tickets, under the caller's own token. Errors: what kept the backend from taking it. */
export async function reportTo(shelf: Shelf, report: GapReport, scope: Asking, call: Calling): Promise<TakenTicket> {
  const params = Object.fromEntries(Object.entries(report).filter(([, value]) => value !== null));
  const answer = await asked(shelf, 'report_missing_capability', params, scope, call);
  const taken = answer.kind === 'result' ? takenIn(answer.value) : answer;
  if (!('kind' in taken)) return taken;
  const { id } = shelf.backend;
  const { kind, message } = failed(shelf, taken, 'report_missing_capability', scope, call);
  throw new CortexError(
    kind,
    kind === 'cancelled' ? undefined : 'contextApp',
    `names ${id}, which did not take the ticket: ${message}`,
    'try again later, or leave contextApp out to file it with Cortex',
    kind === 'unavailable' ? { reason: 'upstream_failed' } : {},
  );
}

/** Which of the caller's tickets. */
export interface Wanted {
  status?: string | undefined;
  severity?: string | undefined;
  limit: number;
}

/** The caller's own tickets that a backend keeps, or what kept it from saying so. */
export async function ticketsOf(
  shelf: Shelf,
  wanted: Wanted,
  scope: Asking,
  call: Calling,
): Promise<{ tickets: TicketJson[] } | { error: string }> {
  const answer = await asked(shelf, 'list_tickets', { ...wanted }, scope, call);
  const listed = answer.kind === 'result' ? listedIn(answer.value) : answer;
  if ('kind' in listed) return { error: failed(shelf, listed, 'list_tickets', scope, call).message };
  const { id } = shelf.backend;
  const tickets = listed.tickets.flatMap((ticket) => {
    const read = ticketIn(ticket, id);
    return read === undefined ? [] : [read];
  });
  // What it was not asked for it may have sent all the same.
  const fits = ({ status, severity }: TicketJson) =>
    (wanted.status ?? status) === status && (wanted.severity ?? severity) === severity;
  return { tickets: tickets.filter(fits).slice(0, wanted.limit) };
}

async function asked(
  { client, backend }: Shelf,
  method: string,
  params: object,
  { caller, traceparent, input }: Asking,
  { call_id, signal }: Calling,
): Promise<BackendAnswer> {
  const ms = Math.min(backend.timeoutMs, PATIENCE_MS);
  const { idempotency_key: idempotencyKey } = input.meta;
  const request = {
    method,
    params: JSON.stringify(params),
    as: caller,
    requestId: call_id,
    traceparent,
    timeoutMs: ms,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  return bounded(client.call(request), ms, signal);
}

function failed(
  { backend }: Shelf,
  answer: Exclude<BackendAnswer, { kind: 'result' }>,
  method: string,
  { caller }: Asking,
  { log }: Calling,
): CortexError {
  if (answer.kind === 'invalid')
    log.warn({ backend: backend.id, why: answer.why }, 'a backend sent an invalid response');
  return failureOf(backend, answer, method, toldBy(backend, caller));
}

const invalid = (why: string): Extract<BackendAnswer, { kind: 'invalid' }> => ({ kind: 'invalid', why });

function takenIn(value: unknown): TakenTicket | ReturnType<typeof invalid> {
  if (!isObject(value)) return invalid('its receipt of a ticket is no object');
  const { ticketId, deduplicated, existingStatus, ackMessage } = value;
  const id = textOf(ticketId, 256);
  if (id === null || id === '') return invalid('its receipt of a ticket names no ticketId');
  const status = textOf(existingStatus, 64);
  const ack = textOf(ackMessage, MAX_ACK);
  return {
    ticketId: id,
    deduplicated: deduplicated === true,
    ...(status !== null && { existingStatus: status }),
    ...(ack !== null && ack !== '' && { ackMessage: ack }),
  };
}

function listedIn(value: unknown): { tickets: unknown[] } | ReturnType<typeof invalid> {
  const tickets = isObject(value) ? value['tickets'] : undefined;
  return Array.isArray(tickets) ? { tickets } : invalid('its answer to list_tickets has no list of tickets');
}

/** In our fields and no others; undefined for what is no ticket. */
function ticketIn(ticket: unknown, backend: string): TicketJson | undefined {
  if (!isObject(ticket)) return undefined;
  const text = (name: string, most = MAX_TEXT): string | null => textOf(ticket[name], most);
  const id = text('id', 256) ?? text('ticketId', 256);
  if (id === null) return undefined;
  const [resolvedPrUrl, workspaceSlug] = [text('resolvedPrUrl'), text('workspaceSlug', 128)];
  return {
    id,
    status: text('status', 64) ?? 'open',
    severity: text('severity', 64),
    contextTool: text('contextTool', 128),
    contextApp: text('contextApp', 128) ?? backend,
    whatIWanted: text('whatIWanted') ?? '',
    userIntent: text('userIntent') ?? '',
    suggestedShape: text('suggestedShape'),
    triageNote: text('triageNote'),
    resolutionNote: text('resolutionNote'),
    ...(resolvedPrUrl !== null && { resolvedPrUrl }),
    ...(workspaceSlug !== null && { workspaceSlug }),
    createdAt: timeOf(ticket['createdAt']),
    updatedAt: timeOf(ticket['updatedAt']) ?? timeOf(ticket['createdAt']),
    source: `backend:${backend}`,
  };
}

function textOf(value: unknown, most: number): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? firstChars(value.toWellFormed(), most) : null;
}

/** Any way of writing a time that is one becomes ours, so that tickets of all sources sort. */
function timeOf(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
