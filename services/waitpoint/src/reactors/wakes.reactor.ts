import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import { defineReactor } from '@cortex/service-kit';
import { Wakes } from '../adapters/wakes.js';
import { COALESCE_MS } from '../waitpoint/waitpoint.decider.js';

/**
 * Wakes a session the moment that its waitpoint fires or expires, or when its signals are collected. A wake that fails is
 * recorded as such and left to the sweep, so nothing here throws but what could not be recorded.
 */
export const wakes = defineReactor<WaitpointEvent>({
  name: 'waitpoint_wakes_v1',
  subject: 'cortex.evt.waitpoint.*.waitpoint.*',
  on: {
    async WaitpointFired({ id, at, data: { wake } }, ctx) {
      if (wake === null) return;
      const due = Date.parse(wake.at);
      // As long as was meant, by the clock that wrote both: ours may have been set since.
      const planned = due - Date.parse(at);
      const wait = Math.min(planned, due - Date.now());
      if (wait <= 0) await ctx.get(Wakes).now(ctx.workspace, id);
      // One that is put off for longer is the sweep's: the hour's cap, or a try after a failure.
      else if (planned <= COALESCE_MS) ctx.get(Wakes).later(ctx.workspace, id, wait);
    },
    WaitpointExpired: ({ id }, ctx) => ctx.get(Wakes).now(ctx.workspace, id),
  },
});
