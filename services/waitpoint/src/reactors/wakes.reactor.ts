import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import { defineReactor } from '@cortex/service-kit';
import { Wakes } from '../adapters/wakes.js';

/**
 * Wakes a session the moment that its waitpoint fires or expires. A wake that fails is recorded as such and left to the
 * sweep, so nothing here throws but what could not be recorded.
 */
export const wakes = defineReactor<WaitpointEvent>({
  name: 'waitpoint_wakes_v1',
  subject: 'cortex.evt.waitpoint.*.waitpoint.*',
  on: {
    WaitpointFired: (event, ctx) => ctx.get(Wakes).deliver(ctx.workspace, event.id),
    WaitpointExpired: (event, ctx) => ctx.get(Wakes).deliver(ctx.workspace, event.id),
  },
});
