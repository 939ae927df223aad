import { unavailable } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { whileAlive } from '../catalog/instances.js';
import { edgeScope } from '../edge-scope.js';

/** One question to the ticket service. Errors: its own, and `unavailable` where it was killed while it worked on it. */
export const askTickets = <T>(ctx: ToolContext, subject: string, args: Record<string, unknown>): Promise<T> =>
  whileAlive(
    edgeScope(ctx).instances,
    'ticket',
    () => ctx.ask<T>(subject, args),
    () => unavailable('ticket', 'ended while it was asked', 'see list_cortex_tickets, then try again'),
  );
