import type { Migrations } from '@cortex/eventstore';
import { sql, type Generated } from 'kysely';

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
  /** When the last verified token was seen, to the minute. */
  last_seen_at: Generated<Date>;
}

export interface EdgeDb {
  people: PeopleTable;
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
};

/** Tables that the edge writes itself. */
export const stateTables: readonly string[] = ['people'];
