import { unavailable } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { gaps } from '../projections/gaps.projection.js';
import type { GapRow } from '../projections/tables.js';

/** What is shown of a row: all of it. */
export const gapColumns = [
  'id',
  'status',
  'severity',
  'what_i_wanted',
  'user_intent',
  'context_tool',
  'context_app',
  'suggested_shape',
  'triage_note',
  'resolution_note',
  'resolved_pr_url',
  'duplicate_of',
  'reporter',
  'created_at',
  'updated_at',
  'resolved_at',
] as const;

/** A ticket as routes and lists show it. `reporter` is the `per_` id of a person, or the id of an agent. */
export const gapJson = (row: Pick<GapRow, (typeof gapColumns)[number]>) => ({
  id: row.id,
  status: row.status,
  severity: row.severity,
  contextTool: row.context_tool,
  contextApp: row.context_app,
  whatIWanted: row.what_i_wanted,
  userIntent: row.user_intent,
  suggestedShape: row.suggested_shape,
  triageNote: row.triage_note,
  resolutionNote: row.resolution_note,
  resolvedPrUrl: row.resolved_pr_url,
  duplicateOf: row.duplicate_of,
  reporter: row.reporter,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  resolvedAt: row.resolved_at,
});
/** A ticket on the bus and in the routes of operators. */
export type GapJson = ReturnType<typeof gapJson>;

/** One ticket, with what was committed up to `seq`. */
export async function readGap(ctx: ToolContext, id: string, seq: number): Promise<GapJson> {
  const db = await ctx.read(gaps, seq);
  const row = await db.selectFrom('missing_capabilities').select(gapColumns).where('id', '=', id).executeTakeFirst();
  if (row === undefined) throw unavailable('ticketId', 'is not in the view yet', 'try again in a moment');
  return gapJson(row);
}
