import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import { defineProjection } from '@cortex/eventstore';
import { sql, type Transaction } from 'kysely';
import type { WaitpointDb } from './tables.js';

type Tx = Transaction<WaitpointDb>;
interface Where {
  id: string;
  workspace: string;
}

const row = (tx: Tx, { id, workspace }: Where) =>
  tx.updateTable('waitpoints').where('workspace_id', '=', workspace).where('waitpoint_id', '=', id);
const agenda = (tx: Tx, { id, workspace }: Where) =>
  tx.updateTable('agenda').where('workspace', '=', workspace).where('waitpoint_id', '=', id);
/** Both leave together, so that a batch is one round trip. */
const both = (...queries: { execute(): Promise<unknown> }[]) => Promise.all(queries.map((query) => query.execute()));

/** Every waitpoint with its signals, and the agenda by which waitpoints are found and what is due is swept. */
export const waitpoints = defineProjection<WaitpointEvent, WaitpointDb>({
  name: 'waitpoints_v1',
  subject: 'cortex.evt.waitpoint.*.waitpoint.*',
  tables: ['waitpoints', 'signals', 'agenda'],
  on: {
    WaitpointCreated: ({ id, workspace, at, data }, tx) => {
      const device = data.emit_from.kind === 'device' ? data.emit_from.device : null;
      const { expires_at } = data;
      const values = {
        workspace_id: workspace,
        waitpoint_id: id,
        session_id: data.session_id,
        channel: data.channel,
        label: data.label,
        intent: data.intent,
        state: 'armed' as const,
        need: data.need,
        members: data.members,
        reported: [],
        fail_fast: data.fail_fast,
        fires: 0,
        max_signals: data.max_signals,
        wake_times: [],
        wake_pending: false,
        attempts: 0,
        last_error: null,
        device,
        created_at: at,
        expires_at,
        resolved_at: null,
      };
      const due = { waitpoint_id: id, workspace, state: 'armed' as const, device, expires_at };
      return both(
        // A creation that comes again only replaces the secret, which is not here, and the times.
        tx
          .insertInto('waitpoints')
          .values(values)
          .onConflict((oc) => oc.columns(['workspace_id', 'waitpoint_id']).doUpdateSet(values)),
        tx
          .insertInto('agenda')
          .values({ ...due, wake_at: null, resolved_at: null })
          .onConflict((oc) =>
            oc.column('waitpoint_id').doUpdateSet({ expires_at }).where('agenda.workspace', '=', workspace),
          ),
      );
    },
    SignalRecorded: (event, tx) => {
      const { id, workspace, at, data } = event;
      const { n, status, member, slot, message, data: attached, source } = data;
      const signal = { workspace_id: workspace, waitpoint_id: id, n, at, status, member, slot, message, source };
      return both(
        tx.insertInto('signals').values({ ...signal, data: attached }),
        ...(slot === null
          ? []
          : [
              row(tx, event)
                .where((eb) => eb.not(eb(eb.val(slot), '=', eb.fn.any('reported'))))
                .set({ reported: sql`array_append(reported, ${slot})` }),
            ]),
      );
    },
    WaitpointFired: (event, tx) => {
      const { at, data } = event;
      const { fire_no: fires, closes, wake } = data;
      const resolved = closes ? { state: 'fired' as const, resolved_at: at } : {};
      const woken =
        wake === null || wake.joins
          ? {}
          : {
              wake_times: sql<string[]>`array(select t from unnest(wake_times) t
                where t > ${at}::timestamptz - interval '1 hour' order by t) || ${at}::timestamptz`,
            };
      return both(
        row(tx, event).set({
          fires,
          ...resolved,
          ...(closes ? {} : { reported: [] }),
          ...(wake !== null && { wake_pending: true }),
          ...woken,
        }),
        ...(closes ? [agenda(tx, event).set({ state: 'fired', resolved_at: at, device: null })] : []),
        ...(wake === null ? [] : [agenda(tx, event).set({ wake_at: wake.at })]),
      );
    },
    WaitpointExpired: (event, tx) =>
      both(
        row(tx, event).set({ state: 'expired', resolved_at: event.at, wake_pending: true }),
        agenda(tx, event).set({ state: 'expired', resolved_at: event.at, device: null, wake_at: event.at }),
      ),
    WaitpointCancelled: (event, tx) =>
      both(
        row(tx, event).set({ state: 'cancelled', resolved_at: event.at, wake_pending: false }),
        agenda(tx, event).set({ state: 'cancelled', resolved_at: event.at, device: null, wake_at: null }),
      ),
    WaitpointWakeDelivered: (event, tx) =>
      event.data.more
        ? undefined
        : both(
            row(tx, event).set({ wake_pending: false, attempts: 0, last_error: null }),
            agenda(tx, event).set({ wake_at: null }),
          ),
    WaitpointWakeFailed: (event, tx) =>
      both(
        row(tx, event).set({ attempts: event.data.attempts, last_error: event.data.error }),
        agenda(tx, event).set({ wake_at: event.data.retry_at }),
      ),
    WaitpointPurged: ({ id, workspace }, tx) =>
      both(
        ...(['waitpoints', 'signals'] as const).map((table) =>
          tx.deleteFrom(table).where('workspace_id', '=', workspace).where('waitpoint_id', '=', id),
        ),
        tx.deleteFrom('agenda').where('workspace', '=', workspace).where('waitpoint_id', '=', id),
      ),
  },
});
