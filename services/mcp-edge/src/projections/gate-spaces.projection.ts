import type { SpaceEvent } from '@cortex/contracts/workspace';
import { defineProjection } from '@cortex/eventstore';
import type { EdgeDb } from './tables.js';

/** The conversation mode of every space whose mode was ever set. */
export const gateSpaces = defineProjection<SpaceEvent, EdgeDb>({
  name: 'gate_spaces_v1',
  subject: 'cortex.evt.team.*.space.*',
  tables: ['space_modes'],
  on: {
    SpaceModeChanged: ({ workspace, seq, data: { space_id, to: mode } }, tx) =>
      tx
        .insertInto('space_modes')
        .values({ workspace, space_id, mode, seq })
        .onConflict((oc) => oc.columns(['workspace', 'space_id']).doUpdateSet({ mode, seq }))
        .execute(),
  },
});
