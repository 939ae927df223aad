import { defineMigrations, defineProjection } from '@cortex/eventstore';
import type { Generated, Kysely } from 'kysely';
import { counterVersions, type CounterEvent } from './counter.decider.js';

export interface CounterDb {
  counters: {
    workspace_id: string;
    counter_id: string;
    total: Generated<number>;
    commits: Generated<number>;
    closed_at: string | null;
  };
}

/** Each counter's total, the number of its increments, and when it was closed. */
export const counters = defineProjection<CounterEvent, CounterDb>({
  name: 'sample_counters_v1',
  subject: 'cortex.evt.ticket.*.counter.*',
  tables: ['counters'],
  ...counterVersions,
  on: {
    CounterOpened: ({ id, workspace }, tx) =>
      tx
        .insertInto('counters')
        .values({ workspace_id: workspace, counter_id: id })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    CounterIncremented: ({ id, workspace, data }, tx) =>
      tx
        .updateTable('counters')
        .where('workspace_id', '=', workspace)
        .where('counter_id', '=', id)
        .set((eb) => ({ total: eb('total', '+', data.by), commits: eb('commits', '+', 1) }))
        .execute(),
    CounterClosed: ({ id, workspace, at }, tx) =>
      tx
        .updateTable('counters')
        .where('workspace_id', '=', workspace)
        .where('counter_id', '=', id)
        .set({ closed_at: at })
        .execute(),
  },
});

export const counterMigrations = defineMigrations({
  '0001_counters': {
    up: (db: Kysely<unknown>) =>
      db.schema
        .createTable('counters')
        .addColumn('workspace_id', 'text', (column) => column.notNull())
        .addColumn('counter_id', 'text', (column) => column.notNull())
        .addColumn('total', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('commits', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('closed_at', 'text')
        .addPrimaryKeyConstraint('counters_pk', ['workspace_id', 'counter_id'])
        .execute(),
  },
});
