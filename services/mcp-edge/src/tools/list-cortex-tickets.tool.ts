import { isCortexError, subjects, unauthenticated } from '@cortex/contracts';
import { GAP_SEVERITIES, GAP_STATUSES } from '@cortex/contracts/gap';
import { defineTool, limit, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { toldBy } from '../federation/provenance.js';
import type { Shelf } from '../federation/shelf.js';
import { askTickets } from '../gaps/ask-tickets.js';
import { ticketsOf } from '../gaps/backend-tickets.js';
import { ownerOf, ownersFor } from '../gaps/owner.js';
import { TicketJson } from '../gaps/ticket-json.js';
import { edgeScope } from '../edge-scope.js';
import { indented, indentedText } from './indented.js';

const LIST = subjects.query('ticket', 'list_gaps');
const HERE = 'cortex_local';

/**
 * The tickets that the caller filed with report_missing_capability, wherever they are kept. Events: none. Errors: unauthenticated for an
 * agent behind whom there is nobody; invalid_argument (contextApp). A source that fails is told in `sources`. Source: gateway, section 16.4.
 */
export const listCortexTickets = defineTool({
  name: 'list_cortex_tickets',
  title: 'List my tickets',
  description:
    'Lists the tickets that you or your user filed with report_missing_capability, newest first, with what became of each. ' +
    'These are no tickets of a workspace; for those see list_tickets. Safe to repeat.',
  tier: 'read',
  actions: [],
  workspace: 'none',
  builtin: true,
  input: z.object({
    status: z.enum(GAP_STATUSES).describe('Only those with this status').optional(),
    severity: z.enum(GAP_SEVERITIES).describe('Only those that are so urgent').optional(),
    contextApp: text({ max: 128, blank: false })
      .describe('Only those about this connected app; cortex for this server itself')
      .optional(),
    limit: limit(20, 100),
  }),
  output: z.object({
    count: z.number().int().describe('How many are in this answer'),
    totalFetched: z.number().int().describe('How many all sources gave'),
    limit: z.number().int().describe('The limit that was used'),
    filteredBy: z.object({
      status: z.string().optional(),
      severity: z.string().optional(),
      contextApp: z.string().optional(),
    }),
    sources: z
      .record(
        z.string(),
        z.object({ ok: z.boolean(), count: z.number().int().optional(), error: z.string().optional() }),
      )
      .describe('Who was asked, by id; cortex_local is this server'),
    tickets: z.array(TicketJson).describe('Newest first'),
  }),
  async handle({ limit, ...filters }, ctx) {
    const scope = edgeScope(ctx);
    const { caller } = scope;
    if (caller.person_id === null)
      throw unauthenticated(
        undefined,
        'there is no person whose tickets these would be',
        'use the session of a person',
      );
    const filteredBy = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
    const owner = ownerOf(scope, filters.contextApp ?? null);
    const owners = filters.contextApp === undefined ? ownersFor(scope) : owner === undefined ? [] : [owner];
    const asked = await Promise.all([
      ...(owner === undefined ? [here({ ...filteredBy, limit }, ctx)] : []),
      ...owners.map((shelf) => there(shelf, { ...filters, limit }, ctx)),
    ]);
    const all = asked.flatMap(({ tickets }) => tickets).sort(newestFirst);
    const tickets = all.slice(0, limit);
    const answer = {
      count: tickets.length,
      totalFetched: all.length,
      limit,
      filteredBy,
      sources: Object.fromEntries(asked.map(({ source, outcome }) => [source, outcome])),
      tickets,
    };
    if (caller.session === undefined) return indented(answer);
    // What a backend says stands in an agent's prompt only where it is seen whose words they are.
    const own = tickets.filter(({ source }) => source === LOCAL);
    const fenced = asked.flatMap(({ shelf }) => {
      const theirs = tickets.filter(({ source }) => source === `backend:${shelf?.backend.id}`);
      return shelf === undefined || theirs.length === 0 ? [] : [toldBy(shelf.backend, caller)(indentedText(theirs))];
    });
    return indented(answer, [indentedText({ ...answer, tickets: own }), ...fenced]);
  },
});

const LOCAL = 'cortex-local';

interface Asked {
  source: string;
  shelf?: Shelf;
  outcome: { ok: boolean; count?: number; error?: string };
  tickets: TicketJson[];
}

async function here(args: Record<string, unknown>, ctx: ToolContext): Promise<Asked> {
  try {
    const { tickets } = await askTickets<{ tickets: LocalTicket[] }>(ctx, LIST, { mine: true, ...args });
    return { source: HERE, outcome: { ok: true, count: tickets.length }, tickets: tickets.map(localTicket) };
  } catch (error) {
    // A call that is over is told so; a source that fails takes nothing from the others.
    if (!isCortexError(error) || ctx.signal.aborted) throw error;
    return { source: HERE, outcome: { ok: false, error: error.message }, tickets: [] };
  }
}

async function there(shelf: Shelf, wanted: Parameters<typeof ticketsOf>[1], ctx: ToolContext): Promise<Asked> {
  const { status, severity, limit } = wanted;
  const got = await ticketsOf(shelf, { status, severity, limit }, edgeScope(ctx), ctx);
  const source = shelf.backend.id;
  if ('error' in got) return { source, shelf, outcome: { ok: false, error: got.error }, tickets: [] };
  return { source, shelf, outcome: { ok: true, count: got.tickets.length }, tickets: got.tickets };
}

/** As the ticket service gives it. */
type LocalTicket = Omit<TicketJson, 'source' | 'resolvedPrUrl' | 'workspaceSlug'> & { resolvedPrUrl: string | null };

const localTicket = ({ resolvedPrUrl, ...ticket }: LocalTicket): TicketJson => ({
  id: ticket.id,
  status: ticket.status,
  severity: ticket.severity,
  contextTool: ticket.contextTool,
  contextApp: ticket.contextApp,
  whatIWanted: ticket.whatIWanted,
  userIntent: ticket.userIntent,
  suggestedShape: ticket.suggestedShape,
  triageNote: ticket.triageNote,
  resolutionNote: ticket.resolutionNote,
  ...(resolvedPrUrl !== null && { resolvedPrUrl }),
  createdAt: ticket.createdAt,
  updatedAt: ticket.updatedAt,
  source: LOCAL,
});

/** A ticket without a time is the oldest. */
const newestFirst = (a: TicketJson, b: TicketJson): number => {
  const [x, y] = [a.createdAt ?? '', b.createdAt ?? ''];
  return x === y ? 0 : x < y ? 1 : -1;
};
