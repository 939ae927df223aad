import type { ApprovalMode, Autonomy, GuardRule, Mode } from '@cortex/contracts';
import type { DefinitionFields, ItemKind } from '@cortex/contracts/definition';
import type { SessionEvent } from '@cortex/contracts/session';
import type { WorkspaceRole } from '@cortex/contracts/workspace';
import type { Migrations } from '@cortex/eventstore';
import { sql, type ColumnType, type Generated, type Kysely } from 'kysely';

/** The only place where a `per_` id meets issuer, `sub`, name and address (architecture, section 9). No projection. */
export interface PeopleTable {
  person_id: string;
  issuer: string;
  sub: string;
  name: string;
  email: string;
  /** Those of the last verified token, expanded and sorted. */
  scopes: string[];
  first_seen_at: Generated<Date>;
  /** When the last verified token was seen, to the minute; null for who was registered and never came. */
  last_seen_at: Date | null;
}

/** What SessionStarted said. */
export type StartedSession = Extract<SessionEvent, { type: 'SessionStarted' }>['data'];

/**
 * What gates read, of all workspaces: each edge holds it in memory, and re-reads the rows whose `seq` (sequence of the commit that wrote them)
 * is above what it has. So nothing is deleted that an edge must forget: it is marked as gone.
 */
interface GateRow {
  workspace: string;
  seq: number;
}
export type GateTables = {
  workspaces: GateRow;
  /** `role` null: was a member. */
  workspace_members: GateRow & { principal_id: string; role: WorkspaceRole | null };
  approval_modes: GateRow & { mode: ApprovalMode };
  /** `rule` null: was removed. */
  guard_rules: GateRow & { rule_id: string; rule: Json<GuardRule> | null };
  /** `space_id` empty: in every space without a dial of its own. */
  autonomy: GateRow & { agent_id: string; space_id: string; level: Autonomy };
  space_modes: GateRow & { space_id: string; mode: Mode };
  /** One row per agent: its newest run. */
  active_runs: GateRow & {
    agent_id: string;
    run_id: string;
    space_id: string | null;
    ticket_id: string | null;
    active: boolean;
  };
  /** `workspace` is `_` where the session has none. */
  open_sessions: GateRow & { session_id: string; started: Json<StartedSession>; ended_at: string | null };
};

/** Every definition that an item of a backend ever had; what was never approved is kept for a year. */
export interface DefinitionsTable {
  backend: string;
  kind: ItemKind;
  original: string;
  digest: string;
  fields: Json<DefinitionFields>;
  first_seen_at: ColumnType<Date, string, string>;
  /** When and by whom it was approved last; null when it never was. */
  approved_at: ColumnType<Date | null, string | null, string | null>;
  approved_by: string | null;
}
/** PostgreSQL takes it as text. */
type Json<T> = ColumnType<T, string, string>;

export interface EdgeDb extends GateTables {
  people: PeopleTable;
  definitions: DefinitionsTable;
}

type Column = readonly [name: string, type: 'text' | 'jsonb' | 'timestamptz' | 'boolean', needed?: 'not null'];

async function gateTable(db: Kysely<unknown>, table: string, key: string[], columns: readonly Column[]): Promise<void> {
  let builder = db.schema.createTable(table).addColumn('workspace', 'text', (c) => c.notNull());
  for (const [name, type, needed] of columns)
    builder = builder.addColumn(name, type, (c) => (needed ? c.notNull() : c));
  await builder
    .addColumn('seq', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint(`${table}_pk`, key as never[])
    .execute();
  await db.schema.createIndex(`${table}_seq`).on(table).column('seq').execute();
}

export const migrations: Migrations = {
  '0001_people': {
    async up(db) {
      await db.schema
        .createTable('people')
        .addColumn('person_id', 'text', (c) => c.primaryKey())
        .addColumn('issuer', 'text', (c) => c.notNull())
        .addColumn('sub', 'text', (c) => c.notNull())
        .addColumn('name', 'text', (c) => c.notNull())
        .addColumn('email', 'text', (c) => c.notNull())
        .addColumn('scopes', sql`text[]`, (c) => c.notNull())
        .addColumn('first_seen_at', 'timestamptz', (c) => c.notNull().defaultTo(sql`now()`))
        .addColumn('last_seen_at', 'timestamptz', (c) => c.notNull().defaultTo(sql`now()`))
        .addUniqueConstraint('people_issuer_sub', ['issuer', 'sub'])
        .execute();
    },
  },
  '0002_registered_people': {
    async up(db) {
      await db.schema
        .alterTable('people')
        .alterColumn('last_seen_at', (c) => c.dropNotNull())
        .execute();
    },
  },
  '0003_gates': {
    async up(db: Kysely<unknown>) {
      const text = (name: string): Column => [name, 'text', 'not null'];
      await gateTable(db, 'workspaces', ['workspace'], []);
      await gateTable(db, 'workspace_members', ['workspace', 'principal_id'], [text('principal_id'), ['role', 'text']]);
      await gateTable(db, 'approval_modes', ['workspace'], [text('mode')]);
      await gateTable(db, 'guard_rules', ['workspace', 'rule_id'], [text('rule_id'), ['rule', 'jsonb']]);
      const dial = [text('agent_id'), text('space_id'), text('level')];
      await gateTable(db, 'autonomy', ['workspace', 'agent_id', 'space_id'], dial);
      await gateTable(db, 'space_modes', ['workspace', 'space_id'], [text('space_id'), text('mode')]);
      const run: Column[] = [
        text('run_id'),
        ['space_id', 'text'],
        ['ticket_id', 'text'],
        ['active', 'boolean', 'not null'],
      ];
      await gateTable(db, 'active_runs', ['workspace', 'agent_id'], [text('agent_id'), ...run]);
      const session: Column[] = [text('session_id'), ['started', 'jsonb', 'not null'], ['ended_at', 'timestamptz']];
      await gateTable(db, 'open_sessions', ['session_id'], session);
      await db.schema.createIndex('open_sessions_ended').on('open_sessions').column('ended_at').execute();
    },
  },
  '0003_people_registered': {
    up: (db) =>
      db.schema
        .alterTable('people')
        .alterColumn('last_seen_at', (c) => c.dropDefault())
        .alterColumn('last_seen_at', (c) => c.dropNotNull())
        .execute(),
  },
  '0004_definitions': {
    up: (db) =>
      db.schema
        .createTable('definitions')
        .addColumn('backend', 'text', (c) => c.notNull())
        .addColumn('kind', 'text', (c) => c.notNull())
        .addColumn('original', 'text', (c) => c.notNull())
        .addColumn('digest', 'text', (c) => c.notNull())
        .addColumn('fields', 'jsonb', (c) => c.notNull())
        .addColumn('first_seen_at', 'timestamptz', (c) => c.notNull())
        .addColumn('approved_at', 'timestamptz')
        .addColumn('approved_by', 'text')
        .addPrimaryKeyConstraint('definitions_pk', ['backend', 'kind', 'original', 'digest'])
        .execute(),
  },
};

/** Tables that the edge writes itself. */
export const stateTables: readonly string[] = ['people'];
