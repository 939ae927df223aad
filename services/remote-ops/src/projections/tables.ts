import { defineMigrations } from '@cortex/eventstore';
import type { ColumnType } from 'kysely';

/** A machine that was added once. Source: the events of `remote-ops.device`. */
export interface DeviceRow {
  name: string;
  /** Hex SHA-256 of its key; null before it joined and after it was revoked. */
  key_sha256: string | null;
  platform: string | null;
  revoked: boolean;
  added_at: ColumnType<Date, string, string>;
  /** When it last connected or was lost; while it is connected it is seen now. */
  last_seen_at: ColumnType<Date | null, string | null, string | null>;
}

export interface RemoteOpsDb {
  devices: DeviceRow;
}

export const migrations = defineMigrations({
  '0001_devices': {
    async up(db) {
      await db.schema
        .createTable('devices')
        .addColumn('name', 'text', (column) => column.primaryKey())
        .addColumn('key_sha256', 'text')
        .addColumn('platform', 'text')
        .addColumn('revoked', 'boolean', (column) => column.notNull())
        .addColumn('added_at', 'timestamptz', (column) => column.notNull())
        .addColumn('last_seen_at', 'timestamptz')
        .execute();
    },
  },
});
