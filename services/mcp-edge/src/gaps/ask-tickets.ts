import { unavailable } from '@cortex/contracts';
import type { ToolContext } from '@cortex/service-kit';
import { edgeScope } from '../edge-scope.js';

/**
 * One question to the ticket service. NATS says nothing of one that is killed while it works on it, so that is heard from its sign of life.
 * Errors: its own, and `unavailable`.
 */
export async function askTickets<T>(ctx: ToolContext, subject: string, args: Record<string, unknown>): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const abandoned = (): void =>
    reject(unavailable('ticket', 'ended while it was asked', 'see list_cortex_tickets, then try again'));
  const release = edgeScope(ctx).instances.hold('ticket', abandoned);
  try {
    return await Promise.race([ctx.ask<T>(subject, args), ended]);
  } finally {
    release();
  }
}
