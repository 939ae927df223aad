import { defineMigrations } from '@cortex/eventstore';
import { sql, type ColumnType } from 'kysely';

type Time = ColumnType<Date, string, string>;
type MaybeTime = ColumnType<Date | null, string | null, string | null>;

/** An agent session. Source: the events of `session.session`. */
export interface SessionRow {
  workspace_id: string;
  session_id: string;
  channel: string;
  project: string;
  kind: string;
  trigger: string;
  person_id: string | null;
  execution_id: string | null;
  groups: string[];
  scopes: string[];
  started_at: Time;
  ended_at: MaybeTime;
  end_reason: string | null;
}

/** A message of a session's inbox; of one that was recorded twice the first. */
export interface MessageRow {
  workspace_id: string;
  session_id: string;
  message_id: string;
  /** Sequence of its commit: the order of the inbox. */
  seq: ColumnType<string, number, never>;
  at: Time;
  origin: string;
  delivery: string;
  tag: string | null;
  text: string;
}

/**
 * Where each session is: a session is asked for by its id alone, and then its rows are read inside its workspace. No column
 * here is anybody's content, so the table is not bound to one workspace.
 */
export interface SessionIdRow {
  session_id: string;
  /** `_` for none. */
  workspace: string;
  started_at: Time;
  ended_at: MaybeTime;
}

export interface SessionDb {
  sessions: SessionRow;
  messages: MessageRow;
  session_ids: SessionIdRow;
}

export const migrations = defineMigrations({
  '0001_sessions': {
    async up(db) {
      await db.schema
        .createTable('sessions')
        .addColumn('workspace_id', 'text', (c) => c.notNull())
        .addColumn('session_id', 'text', (c) => c.primaryKey())
        .addColumn('channel', 'text', (c) => c.notNull())
        .addColumn('project', 'text', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('trigger', 'text', (c) => c.notNull())
        .addColumn('person_id', 'text')
        .addColumn('execution_id', 'text')
        .addColumn('groups', sql`text[]`, (c) => c.notNull())
        .addColumn('scopes', sql`text[]`, (c) => c.notNull())
        .addColumn('started_at', 'timestamptz(3)', (c) => c.notNull())
        .addColumn('ended_at', 'timestamptz(3)')
        .addColumn('end_reason', 'text')
        .execute();
      await db.schema
        .createIndex('sessions_channel')
        .on('sessions')
        .columns(['workspace_id', 'channel', 'started_at'])
        .execute();
      await db.schema
        .createTable('messages')
        .addColumn('workspace_id', 'text', (c) => c.notNull())
        .addColumn('session_id', 'text', (c) => c.notNull())
        .addColumn('message_id', 'text', (c) => c.notNull())
        .addColumn('seq', 'bigint', (c) => c.notNull())
        .addColumn('at', 'timestamptz(3)', (c) => c.notNull())
        .addColumn('origin', 'text', (c) => c.notNull())
        .addColumn('delivery', 'text', (c) => c.notNull())
        .addColumn('tag', 'text')
        .addColumn('text', 'text', (c) => c.notNull())
        .addPrimaryKeyConstraint('messages_pk', ['message_id', 'session_id'])
        .execute();
      await db.schema.createIndex('messages_order').on('messages').columns(['session_id', 'seq']).execute();
      await db.schema
        .createTable('session_ids')
        .addColumn('session_id', 'text', (c) => c.primaryKey())
        .addColumn('workspace', 'text', (c) => c.notNull())
        .addColumn('started_at', 'timestamptz(3)', (c) => c.notNull())
        .addColumn('ended_at', 'timestamptz(3)')
        .execute();
      await db.schema
        .createIndex('session_ids_started')
        .on('session_ids')
        .columns(['started_at', 'session_id'])
        .execute();
    },
  },
});
