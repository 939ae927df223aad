import type { TicketEvent, TicketStatus } from '@cortex/contracts/ticket';
import { defineProjection, type Recorded } from '@cortex/eventstore';
import { sql, type Transaction, type Updateable, type UpdateObject } from 'kysely';
import type { TicketDb, TicketRow } from './tables.js';

/** Every ticket as it is now. */
export const tickets = defineProjection<TicketEvent, TicketDb>({
  name: 'tickets_v1',
  subject: 'cortex.evt.ticket.*.ticket.*',
  tables: ['tickets', 'ticket_collaborators', 'ticket_ids'],
  on: {
    TicketCreated: ({ id, workspace, at, actor, data }, tx) => {
      const { ticket_id: _, ...details } = data;
      return Promise.all([
        tx
          .insertInto('tickets')
          .values({
            ...details,
            workspace_id: workspace,
            ticket_id: id,
            assignee_type: null,
            created_by_type: actor.kind,
            created_by_id: actor.id,
            created_at: at,
            updated_at: at,
          })
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
        tx
          .insertInto('ticket_ids')
          .values({ ticket_id: id, workspace })
          .onConflict((conflict) => conflict.doNothing())
          .execute(),
      ]);
    },
    TicketDetailsUpdated: (event, tx) => {
      const { title, description, priority, labels } = event.data.changes;
      return change(event, tx, { title, description, priority, labels });
    },
    TicketStatusChanged: (event, tx) => {
      const { to } = event.data;
      return change(event, tx, { status: to, ...timesOf(to, event.at) });
    },
    TicketCompleted: (event, tx) =>
      change(event, tx, { output: event.data.output && JSON.stringify(event.data.output) }),
    TicketFailed: (event, tx) => change(event, tx, { error_message: event.data.error_message }),
    TicketAssigned: (event, tx) => {
      const { assignee_id, assignee_type, team_id } = event.data;
      return change(event, tx, { assignee_id, assignee_type, team_id });
    },
    TicketCollaboratorAdded: (event, tx) => {
      const { principal_id, principal_type, role } = event.data;
      const { workspace: workspace_id, id: ticket_id, at: added_at } = event;
      return Promise.all([
        tx
          .insertInto('ticket_collaborators')
          .values({ workspace_id, ticket_id, principal_id, principal_type, role, added_at })
          .onConflict((conflict) =>
            conflict.columns(['workspace_id', 'ticket_id', 'principal_id']).doUpdateSet({ role }),
          )
          .execute(),
        change(event, tx, {}),
      ]);
    },
    TicketPullRequestLinked: (event, tx) =>
      change(event, tx, { linked_pr_ids: sql`array_append(linked_pr_ids, ${event.data.pr_external_id})` }),
    TicketPullRequestUnlinked: (event, tx) =>
      change(event, tx, { linked_pr_ids: sql`array_remove(linked_pr_ids, ${event.data.pr_external_id})` }),
  },
});

/** A commit counts once in `version`, however many events it holds. */
function change(
  { id, workspace, at, index }: Recorded,
  tx: Transaction<TicketDb>,
  set: UpdateObject<TicketDb, 'tickets'>,
): Promise<unknown> {
  return tx
    .updateTable('tickets')
    .where('workspace_id', '=', workspace)
    .where('ticket_id', '=', id)
    .set({ ...set, updated_at: at })
    .$if(index === 0, (query) => query.set((eb) => ({ version: eb('version', '+', 1) })))
    .execute();
}

/** The times that go with entering a state. A ticket that is opened again has no end. */
function timesOf(status: TicketStatus, at: string): Updateable<TicketRow> {
  return {
    ...(status === 'inProgress' && { started_at: at }),
    ...(status === 'blocked' && { blocked_at: at }),
    ...(status === 'done' && { completed_at: at }),
    ...(status === 'cancelled' && { cancelled_at: at }),
    finished_at: ENDS.has(status) ? at : null,
  };
}

const ENDS: ReadonlySet<TicketStatus> = new Set(['done', 'failed', 'cancelled']);
