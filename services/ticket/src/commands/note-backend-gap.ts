import { hashedToken, sha256Hex } from '@cortex/contracts';
import { defineCommand } from '@cortex/service-kit';
import { z } from 'zod';
import { GapWebhook } from '../adapters/gap-webhook.js';
import { gap } from '../gap/gap.decider.js';
import { reportFields } from '../gap/gap-fields.js';
import { wasTold } from '../gap/notice.js';
import { reporterOf } from '../gap/reporter.js';
import { gapReporter, reporterId } from '../gapreporter/gapreporter.decider.js';

/**
 * Tells the platform team of a blocking ticket that a backend keeps: `{told}`, as of `report_gap`. Once per ticket of the backend.
 * Events: GapAdmitted and GapTakenByBackend, or none. Errors: resource_exhausted rate_limited (20 of one backend per reporter and hour;
 * a backend may call every report a new ticket).
 */
export const noteBackendGap = defineCommand({
  name: 'note_backend_gap',
  input: z.object({
    ...reportFields,
    severity: z.literal('blocking'),
    backend: z.string().min(1).max(64),
    backend_ticket_id: z.string().min(1).max(256),
  }),
  async handle({ backend, backend_ticket_id, ...report }, ctx) {
    // Else it would stand in the log for nothing.
    if (!ctx.get(GapWebhook).configured) return { told: false };
    const id = `be_${hashedToken(JSON.stringify([backend, backend_ticket_id]))}`;
    const reporter = reporterOf(ctx);
    const admit = {
      type: 'AdmitGap' as const,
      at: ctx.now(),
      fingerprint: id,
      ticket_id: id,
      caller: sha256Hex(backend),
    };
    await ctx.execute(gapReporter, reporterId(reporter), admit, { workspace: null });
    const command = { type: 'NoteBackendGap' as const, report, reporter, backend, backend_ticket_id };
    await ctx.execute(gap, id, command, { workspace: null });
    return { told: await wasTold(ctx, id) };
  },
});
