import { isCortexError, subjects } from '@cortex/contracts';
import { GAP_SEVERITIES, type GapReport } from '@cortex/contracts/gap';
import { defineTool, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { toldBy } from '../federation/provenance.js';
import type { Shelf } from '../federation/shelf.js';
import { askTickets } from '../gaps/ask-tickets.js';
import { reportTo } from '../gaps/backend-tickets.js';
import { CORTEX, ownerOf } from '../gaps/owner.js';
import { edgeScope } from '../edge-scope.js';
import { indented, indentedText } from './indented.js';

const REPORT = subjects.command('ticket', 'report_gap');
const NOTE = subjects.command('ticket', 'note_backend_gap');
const MOST = 4_000;

/**
 * Files a ticket about what cannot be done here, with the platform team or with the backend that keeps its own.
 * Events: of the ticket service GapReported or GapDeduplicated. Errors: invalid_argument (contextApp), resource_exhausted rate_limited,
 * unavailable. Source: gateway, section 16.3.
 */
export const reportMissingCapability = defineTool({
  name: 'report_missing_capability',
  title: 'Report a missing capability',
  description:
    'Files a ticket for the people who run these tools: when no tool does what you need, or one does not do it well ' +
    'enough. Look with find_tools first. Tell your user that you filed it, and go on another way. Saying the same again ' +
    'within a day is safe: it is the same ticket. See list_cortex_tickets for what became of it. At most 20 new ones an hour.',
  tier: 'write',
  actions: [],
  workspace: 'none',
  builtin: true,
  input: z.object({
    whatIWanted: text({ max: MOST, blank: false }).describe(
      'What you wanted to do and could not, 1 to 4,000 characters; no secrets',
    ),
    userIntent: text({ max: MOST, blank: false }).describe('What it would have been good for, 1 to 4,000 characters'),
    severity: z
      .enum(GAP_SEVERITIES)
      .describe('blocking: the work cannot go on, and somebody is called; inconvenient: there is a way round'),
    contextTool: text({ max: 128, blank: false }).describe('Name of the tool that comes nearest').optional(),
    contextApp: text({ max: 128, blank: false })
      .describe('Id of the connected app that this is about, as in whoami; cortex for this server itself')
      .optional(),
    suggestedShape: text({ max: MOST })
      .describe('How a tool for it could look: name, arguments, result; at most 4,000 characters')
      .optional(),
  }),
  output: z.object({
    ticketId: z.string(),
    deduplicated: z.boolean().describe('True where the same was reported before, within a day'),
    backend: z.string().describe('cortex, or the app that keeps the ticket'),
    source: z.enum(['cortex-local', 'backend-owned']),
    adminNotified: z.boolean().optional().describe('Of a new blocking ticket: whether the platform team was called'),
    ackMessage: z.string().describe('What to tell your user'),
  }),
  handle({ contextTool = null, contextApp = null, suggestedShape = null, ...said }, ctx) {
    const report = { ...said, contextTool, contextApp, suggestedShape };
    const owner = ownerOf(edgeScope(ctx), contextApp);
    return owner === undefined ? fileHere(report, ctx) : fileThere(owner, report, ctx);
  },
});

/** As the ticket service says it. */
interface Filed {
  ticketId: string;
  deduplicated: boolean;
  status: string;
  told?: boolean;
}

async function fileHere(report: GapReport, ctx: ToolContext) {
  const { caller } = edgeScope(ctx);
  const filed = await askTickets<Filed>(ctx, REPORT, { ...report, caller: caller.caller_hash });
  const { ticketId, deduplicated, status, told } = filed;
  const ackMessage = deduplicated
    ? `This is ticket ${ticketId} already; it is ${status}. The platform team was not notified again.`
    : `Filed as ticket ${ticketId}. ${calls(told)}`;
  const notified = told === undefined ? {} : { adminNotified: told };
  return indented({
    ticketId,
    deduplicated,
    backend: CORTEX,
    source: 'cortex-local' as const,
    ...notified,
    ackMessage,
  });
}

async function fileThere(owner: Shelf, report: GapReport, ctx: ToolContext) {
  const scope = edgeScope(ctx);
  const { id } = owner.backend;
  const { ticketId, deduplicated, existingStatus, ackMessage: theirs } = await reportTo(owner, report, scope, ctx);
  const told =
    !deduplicated && report.severity === 'blocking' ? await noted(ctx, { ...report }, id, ticketId) : undefined;
  const ours = deduplicated
    ? `This is ticket ${ticketId} of ${id} already. The platform team was not notified again.`
    : `Filed with ${id}. ${calls(told)}`;
  const answer = {
    ticketId,
    deduplicated,
    backend: id,
    source: 'backend-owned' as const,
    ...(told !== undefined && { adminNotified: told }),
    ackMessage: theirs ?? ours,
  };
  if (scope.caller.session === undefined) return indented(answer);
  // What a backend says stands in an agent's prompt only where it is seen whose words they are.
  const words = [ticketId, existingStatus, theirs].filter((text) => text !== undefined).join('\n');
  const known = {
    deduplicated,
    backend: id,
    source: answer.source,
    ...(told !== undefined && { adminNotified: told }),
  };
  return indented(answer, [indentedText(known), toldBy(owner.backend, scope.caller)(words)]);
}

/** The ticket is filed: whatever goes wrong here takes nothing back. */
async function noted(ctx: ToolContext, report: object, backend: string, backend_ticket_id: string): Promise<boolean> {
  try {
    return (await askTickets<{ told: boolean }>(ctx, NOTE, { ...report, backend, backend_ticket_id })).told;
  } catch (error) {
    if (isCortexError(error) && error.kind === 'cancelled') throw error;
    ctx.log.warn({ err: error, backend }, 'the platform team is not told of a blocking ticket of a backend');
    return false;
  }
}

function calls(told: boolean | undefined): string {
  if (told === undefined) return 'The platform team was not notified; it reads its tickets by itself.';
  return told
    ? 'The platform team was notified.'
    : 'The platform team could not be notified at once; it reads its tickets by itself.';
}
