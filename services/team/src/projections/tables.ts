import type { WorkspaceRole } from '@cortex/contracts/workspace';
import { defineMigrations } from '@cortex/eventstore';
import type { Generated, Kysely } from 'kysely';

/**
 * Which workspaces there are and who belongs to them. Not bound to one workspace by row-level security: the question is which
 * ones are the caller's.
 */
export interface TeamDb {
  workspaces: { id: string; name: string; created_at: Generated<Date> };
  memberships: { workspace: string; principal_id: string; role: WorkspaceRole };
}

export const migrations = defineMigrations({
  '0001_workspaces': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('workspaces')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('created_at', 'timestamptz', (column) => column.notNull())
        .execute();
      await db.schema
        .createTable('memberships')
        .addColumn('workspace', 'text', (column) => column.notNull())
        .addColumn('principal_id', 'text', (column) => column.notNull())
        .addColumn('role', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('memberships_pk', ['principal_id', 'workspace'])
        .execute();
      await db.schema.createIndex('memberships_workspace').on('memberships').column('workspace').execute();
    },
  },
});
