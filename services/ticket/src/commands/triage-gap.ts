import { invalidArgument, notFound } from '@cortex/contracts';
import { GAP_STATUSES } from '@cortex/contracts/gap';
import { defineCommand, text, type ToolContext } from '@cortex/service-kit';
import { z } from 'zod';
import { gap, isGap } from '../gap/gap.decider.js';
import { TicketId } from '../gap/gap-fields.js';
import { readGap } from '../gap/gap-rows.js';
import { assertOperator } from '../gap/operators.js';

const Note = text({ max: 4_000 }).nullable().optional();
const Page = z
  .string()
  .max(2_048)
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), 'is no http address; give a whole one')
  .nullable()
  .optional();

/**
 * What an operator makes of a ticket: its status and notes; null takes a note away. Answers the ticket as it is now.
 * Events: GapTriaged, GapPlanned, GapResolved, GapWontFix, GapMarkedDuplicate, GapReopened or GapNoted; none when nothing changes.
 * Errors: permission_denied forbidden; not_found (ticketId, duplicateOf); failed_precondition invalid_state (status); invalid_argument.
 */
export const triageGap = defineCommand({
  name: 'triage_gap',
  input: z.object({
    ticketId: TicketId,
    status: z.enum(GAP_STATUSES).optional(),
    triageNote: Note,
    resolutionNote: Note,
    resolvedPrUrl: Page,
    duplicateOf: TicketId.optional(),
  }),
  async handle({ ticketId, ...given }, ctx) {
    assertOperator(ctx);
    if (given.duplicateOf !== undefined) await assertOriginal(ctx, ticketId, given.duplicateOf);
    const triage = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const { seq } = await ctx.execute(gap, ticketId, { type: 'TriageGap', triage }, { workspace: null });
    return readGap(ctx, ticketId, seq);
  },
});

/** A ticket that says the same, and is none itself that says the same as another: nobody is sent in circles. */
async function assertOriginal(ctx: ToolContext, ticketId: string, original: string): Promise<void> {
  if (original === ticketId) throw invalidArgument('duplicateOf', 'is the ticket itself', 'name the other one');
  const { state } = await ctx.load(gap, original, { workspace: null });
  if (!isGap(state)) throw notFound('duplicateOf', 'names no ticket about a missing capability', 'list them first');
  if (state.status === 'duplicate')
    throw invalidArgument('duplicateOf', 'is a duplicate itself', `name ${state.duplicate_of ?? 'its original'}`);
}
