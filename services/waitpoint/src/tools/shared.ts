import { failedPrecondition, notFound } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { z } from 'zod';

// What the three tools share.

export const GROUP = 'cortex-ext';

export const WaitpointIdText = z.string().min(1).describe('Id of the waitpoint, wp_ and 12 hex digits');

/** Who asks: its own waitpoints are those that it armed, and those whose wake would come to it. */
export interface Asker {
  session_id: string;
  channel: string | undefined;
}

export function askerOf(ctx: ToolContext): Asker {
  const { session_id, channel } = ctx.scope;
  // The kit has refused a call without a session.
  if (session_id === undefined) {
    throw failedPrecondition(undefined, 'a waitpoint needs an agent session', 'call it from within one', {
      reason: 'no_session',
    });
  }
  return { session_id, channel };
}

export const isOwn = (asker: Asker, waitpoint: { session_id: string; channel: string }): boolean =>
  waitpoint.session_id === asker.session_id || waitpoint.channel === asker.channel;

export const noSuchWaitpoint = () => notFound('id', 'names no waitpoint of this session', 'see wait_check without id');

export const EmitFromShape = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('local') }),
    z.object({ kind: z.literal('device'), device: z.string() }),
  ])
  .describe('Where the job runs');
