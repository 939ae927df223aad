import { randomUUID } from 'node:crypto';
import { subjects } from '@cortex/contracts';
import type { GapEvent, GapReport } from '@cortex/contracts/gap';
import { defineReactor, type ReactionContext } from '@cortex/service-kit';
import { GapWebhook, type GapNotice } from '../adapters/gap-webhook.js';
import { gap } from '../gap/gap.decider.js';

const INTERRUPTED = 'the service ended while it told; whether that arrived is not known';
const PERSON_NAME = subjects.query('mcp-edge', 'person_name');

/**
 * Tells the platform team of each new blocking ticket, at most once: that it is about to be told is written first, so that whatever breaks
 * behind it nobody is called twice.
 */
export const gapNotice = defineReactor<GapEvent>({
  name: 'gap_notice_v1',
  subject: 'cortex.evt.ticket.*.gap.*',
  on: {
    GapReported: ({ id, data: { reporter, ...report } }, ctx) =>
      tell(ctx, id, reporter, { ticketId: id, backend: 'cortex', source: 'cortex-local', report }),
    GapTakenByBackend: ({ id, data: { reporter, backend, backend_ticket_id, ...report } }, ctx) =>
      tell(ctx, id, reporter, { ticketId: backend_ticket_id, backend, source: 'backend-owned', report }),
  },
});

async function tell(
  ctx: ReactionContext,
  id: string,
  reporter: string,
  notice: Omit<GapNotice, 'agent'> & { report: GapReport },
): Promise<void> {
  const webhook = ctx.get(GapWebhook);
  if (notice.report.severity !== 'blocking' || !webhook.configured) return;
  const agent = await nameOf(ctx, reporter);
  const nowhere = { workspace: null };
  const attempt = randomUUID();
  const { events } = await ctx.execute(gap, id, { type: 'BeginNotice', attempt }, nowhere);
  const [begun] = events;
  // Not ours: an earlier delivery of this event came as far as this, and ended with its process.
  const lost = begun?.type !== 'GapNoticeBegun' || begun.data.attempt !== attempt;
  const problem = lost ? INTERRUPTED : await webhook.tell({ ...notice, agent }, ctx.signal);
  const command = { type: 'EndNotice' as const, delivered: problem === null, problem };
  const [ended] = (await ctx.execute(gap, id, command, nowhere)).events;
  if (ended?.type === 'GapNoticeEnded' && !ended.data.delivered)
    ctx.log.warn(
      { ticket: notice.ticketId },
      `the platform team was not told of a blocking ticket: ${ended.data.problem}`,
    );
}

/** Who reported it, by address or subject: these are in the edge's table alone, never in the log. A notice does not wait for a name. */
async function nameOf(ctx: ReactionContext, reporter: string): Promise<string> {
  try {
    const { name } = await ctx.ask<{ name: string | null }>(PERSON_NAME, { person_id: reporter });
    return name ?? 'anonymous';
  } catch (error) {
    ctx.log.warn({ err: error }, 'a blocking ticket is told of without the name of its reporter');
    return 'anonymous';
  }
}
