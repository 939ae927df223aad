import { setTimeout as sleep } from 'node:timers/promises';
import { isCortexError } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { GapWebhook } from '../adapters/gap-webhook.js';
import { gap } from './gap.decider.js';

/** How long an answer waits to learn whether the platform team was told. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 50;

/**
 * Whether the platform team was told of a new ticket: true once the webhook took it; false when it did not, is not configured, or has
 * not answered in time. Whichever instance sends it writes that into the log, so that is where this looks.
 */
export async function wasTold(ctx: ToolContext, ticketId: string): Promise<boolean> {
  if (!ctx.get(GapWebhook).configured) return false;
  const until = performance.now() + PATIENCE_MS;
  try {
    for (;;) {
      const { state } = await ctx.load(gap, ticketId, { workspace: null });
      if (state.status !== 'none' && state.notice === 'delivered') return true;
      if ((state.status !== 'none' && state.notice === 'failed') || performance.now() >= until) return false;
      await sleep(LOOK_MS, undefined, { signal: ctx.signal });
    }
  } catch (error) {
    // The ticket is filed, whatever can be read just now.
    if (!isCortexError(error) || error.kind !== 'unavailable') throw error;
    return false;
  }
}
