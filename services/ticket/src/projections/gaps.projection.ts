import type { GapEvent, GapNotes, GapStatus } from '@cortex/contracts/gap';
import { defineProjection, type Recorded } from '@cortex/eventstore';
import type { Transaction, Updateable } from 'kysely';
import type { GapDb, GapRow } from './tables.js';

/** Every ticket about a missing capability as it is now; those that backends keep are theirs to list. */
export const gaps = defineProjection<GapEvent, GapDb>({
  name: 'gaps_v1',
  subject: 'cortex.evt.ticket.*.gap.*',
  tables: ['missing_capabilities'],
  on: {
    GapReported: ({ id, at, data }, tx) =>
      tx
        .insertInto('missing_capabilities')
        .values({
          id,
          status: 'open',
          severity: data.severity,
          what_i_wanted: data.whatIWanted,
          user_intent: data.userIntent,
          context_tool: data.contextTool,
          context_app: data.contextApp,
          suggested_shape: data.suggestedShape,
          reporter: data.reporter,
          created_at: at,
          updated_at: at,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    GapDeduplicated: (event, tx) => change(event, tx, {}),
    GapTriaged: (event, tx) => arrive(event, tx, 'triaged', event.data),
    GapPlanned: (event, tx) => arrive(event, tx, 'planned', event.data),
    GapResolved: (event, tx) => arrive(event, tx, 'resolved', event.data),
    GapWontFix: (event, tx) => arrive(event, tx, 'wont_fix', event.data),
    GapMarkedDuplicate: (event, tx) => {
      const { duplicate_of, ...notes } = event.data;
      return arrive(event, tx, 'duplicate', notes, { duplicate_of });
    },
    GapReopened: (event, tx) =>
      arrive(
        event,
        tx,
        'triaged',
        { resolutionNote: null, resolvedPrUrl: null, ...event.data },
        { duplicate_of: null, resolved_at: null },
      ),
    GapNoted: (event, tx) => change(event, tx, columnsOf(event.data)),
  },
});

const arrive = (
  event: Recorded,
  tx: Transaction<GapDb>,
  status: GapStatus,
  notes: GapNotes,
  more: Updateable<GapRow> = {},
): Promise<unknown> =>
  change(event, tx, { status, ...columnsOf(notes), ...(status === 'resolved' && { resolved_at: event.at }), ...more });

const columnsOf = ({ triageNote, resolutionNote, resolvedPrUrl }: GapNotes): Updateable<GapRow> => ({
  ...(triageNote !== undefined && { triage_note: triageNote }),
  ...(resolutionNote !== undefined && { resolution_note: resolutionNote }),
  ...(resolvedPrUrl !== undefined && { resolved_pr_url: resolvedPrUrl }),
});

const change = ({ id, at }: Recorded, tx: Transaction<GapDb>, set: Updateable<GapRow>): Promise<unknown> =>
  tx
    .updateTable('missing_capabilities')
    .where('id', '=', id)
    .set({ ...set, updated_at: at })
    .execute();
