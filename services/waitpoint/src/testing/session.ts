import type { CallOptions } from '@cortex/testing/start-service';
import type { RunningService } from '@cortex/testing';

/** As an agent of a session calls. */
export const asSession = (session_id = 's1', more: Partial<CallOptions> = {}): CallOptions => ({
  principal: { type: 'agent', id: session_id },
  scope: { session_id, channel: `web:${session_id}`, project: 'general' },
  ...more,
});

export interface SignalAnswer {
  http: number;
  body: Record<string, unknown>;
}

/** As the signal route of the edge sends it. */
export const signalOf =
  (app: RunningService) =>
  (body: Record<string, unknown>): Promise<SignalAnswer> =>
    app.ask<SignalAnswer>('cmd', 'signal', { ...body, source: 'webhook' }, { from: 'mcp-edge', workspace: null });
