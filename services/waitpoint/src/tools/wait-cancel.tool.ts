import { WAITPOINT_ID_PATTERN, WAITPOINT_STATES } from '@cortex/contracts/waitpoint';
import type { EventStore } from '@cortex/eventstore';
import { defineTool, STORE } from '@cortex/service-kit';
import { z } from 'zod';
import { Places } from '../adapters/places.js';
import { commit } from '../commit.js';
import { isThere } from '../waitpoint/state.js';
import { waitpoint } from '../waitpoint/waitpoint.decider.js';
import { askerOf, GROUP, isOwn, noSuchWaitpoint, WaitpointIdText } from './shared.js';

/**
 * Disarms a waitpoint of the session that calls.
 * Events: WaitpointCancelled, or none when it is not armed any more. Errors: not_found (id).
 */
export const waitCancel = defineTool({
  name: 'wait_cancel',
  title: 'Cancel a waitpoint',
  description:
    'Disarms a waitpoint: its secret stops working, it cannot fire, and a wake that is pending is dropped. Safe to repeat: ' +
    'one that is not armed any more is left as it is. Find ids with wait_check.',
  tier: 'write',
  actions: [],
  workspace: 'none',
  session: true,
  group: GROUP,
  input: z.object({ id: WaitpointIdText }),
  output: z.object({
    id: z.string(),
    cancelled: z.boolean().describe('False when it was not armed any more'),
    state: z.enum(WAITPOINT_STATES),
  }),
  async handle({ id }, ctx) {
    if (!WAITPOINT_ID_PATTERN.test(id)) throw noSuchWaitpoint();
    const { state } = await ctx.load(waitpoint, id);
    if (!isThere(state) || !isOwn(askerOf(ctx), state)) throw noSuchWaitpoint();
    const by = ctx.caller.id;
    const deed = {
      workspace: ctx.workspace,
      id,
      actor: { kind: ctx.caller.type, id: by },
      at: ctx.now(),
      cause: ctx.call_id,
      session: state,
    };
    const { events, seq } = await commit(ctx.get<EventStore>(STORE), deed, { type: 'CancelWaitpoint', by });
    await ctx.get(Places).shown(seq);
    const { state: now } = await ctx.load(waitpoint, id);
    if (!isThere(now)) throw noSuchWaitpoint();
    return { id, cancelled: events.length > 0, state: now.status };
  },
});
