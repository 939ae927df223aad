import { GAP_SEVERITIES, GAP_STATUSES } from '@cortex/contracts/gap';
import { cursor, defineQuery, limit, page, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { gap, knownGap } from '../gap/gap.decider.js';
import { TicketId } from '../gap/gap-fields.js';
import { gapColumns, gapJson, readGap } from '../gap/gap-rows.js';
import { assertOperator } from '../gap/operators.js';
import { reporterOf } from '../gap/reporter.js';
import { gapReporter, reporterId } from '../gapreporter/gapreporter.decider.js';
import { gaps } from '../projections/gaps.projection.js';

/**
 * Tickets about missing capabilities, newest first: `{tickets, count, next_cursor}`. With `mine` those of the caller, who is taken from
 * the request and from no argument; without it everybody's, for operators. `ticketId`: that one alone.
 * Errors: permission_denied forbidden, not_found (ticketId), invalid_argument (cursor).
 */
export const listGaps = defineQuery({
  name: 'list_gaps',
  input: z.object({
    mine: z.boolean(),
    ticketId: TicketId.optional(),
    status: z.enum(GAP_STATUSES).optional(),
    severity: z.enum(GAP_SEVERITIES).optional(),
    contextApp: text({ max: 128, blank: false }).optional(),
    limit: limit(50),
    cursor: cursor(),
  }),
  async handle({ mine, ticketId, status, severity, contextApp, ...paging }, ctx) {
    if (!mine) assertOperator(ctx);
    if (!mine && ticketId !== undefined) {
      const { state, seq } = await ctx.load(gap, ticketId, { workspace: null });
      knownGap(state);
      return { tickets: [await readGap(ctx, ticketId, seq)], count: 1, next_cursor: null };
    }
    const db = await ctx.read(gaps, mine ? await lastOwn(ctx) : 0);
    let query = db.selectFrom('missing_capabilities').select(gapColumns);
    if (mine) query = query.where('reporter', '=', reporterOf(ctx));
    if (status !== undefined) query = query.where('status', '=', status);
    if (severity !== undefined) query = query.where('severity', '=', severity);
    // Of nothing else: what names no backend is ours.
    if (contextApp === 'cortex')
      query = query.where((eb) => eb.or([eb('context_app', '=', contextApp), eb('context_app', 'is', null)]));
    else if (contextApp !== undefined) query = query.where('context_app', '=', contextApp);
    const { rows, next_cursor } = await page(query, paging, { order: [['created_at', 'desc']], id: 'id' });
    return { tickets: rows.map(gapJson), count: rows.length, next_cursor };
  },
});

/** Position of the caller's newest ticket: whoever has just reported something finds it, however far behind the view is. */
async function lastOwn(ctx: ToolContext): Promise<number> {
  const { state } = await ctx.load(gapReporter, reporterId(reporterOf(ctx)), { workspace: null });
  const newest = state.recent.at(-1);
  return newest === undefined ? 0 : (await ctx.load(gap, newest.ticket_id, { workspace: null })).seq;
}
