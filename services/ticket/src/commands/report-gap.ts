import { sha256Hex } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { gap, knownGap } from '../gap/gap.decider.js';
import { reportFields } from '../gap/gap-fields.js';
import { wasTold } from '../gap/notice.js';
import { reporterOf } from '../gap/reporter.js';
import { admittedOf, gapReporter, reporterId } from '../gapreporter/gapreporter.decider.js';

/**
 * Files that something cannot be done, in the name of the caller: `{ticketId, deduplicated, status, told}`. The same said again within
 * 24 hours is the same ticket. `told`: of a new blocking ticket alone, whether the platform team's webhook took it; waits for that at
 * most 5 s. Events: GapAdmitted and GapReported, or GapDeduplicated. Errors: resource_exhausted rate_limited (20 new ones per caller
 * and hour).
 */
export const reportGap = defineCommand({
  name: 'report_gap',
  input: z.object({
    ...reportFields,
    /** SHA-256 of the caller key, by which the limit counts. */
    caller: z.string().regex(/^[0-9a-f]{64}$/, 'is no digest'),
  }),
  async handle({ caller, ...report }, ctx) {
    const reporter = reporterOf(ctx);
    const fingerprint = sha256Hex(`${report.whatIWanted}|${report.contextTool ?? ''}`);
    const own = ctx.newId('gap');
    const nowhere = { workspace: null };
    const desk = reporterId(reporter);
    const at = ctx.now();
    const command = { type: 'AdmitGap' as const, at, fingerprint, ticket_id: own, caller };
    const { events } = await ctx.execute(gapReporter, desk, command, nowhere);
    const ticketId =
      events[0]?.data.ticket_id ??
      admittedOf((await ctx.load(gapReporter, desk, nowhere)).state, fingerprint, at) ??
      own;
    // A call that is sent again has the ids of its first try: its own ticket is no repeat.
    const again = ticketId !== own;
    const recorded = await ctx.execute(gap, ticketId, { type: 'ReportGap', report, reporter, again }, nowhere);
    const deduplicated = again && recorded.events[0]?.type !== 'GapReported';
    const { status } = knownGap((await ctx.load(gap, ticketId, nowhere)).state);
    const told = !deduplicated && report.severity === 'blocking' ? await wasTold(ctx, ticketId) : undefined;
    return { ticketId, deduplicated, status, ...(told !== undefined && { told }) };
  },
});
