import type { Log } from '@cortex/bus';
import type { Pool } from 'pg';

export interface Snapshot {
  /** Sequence of the last commit in it. */
  seq: number;
  /** `snapshotVersion` of the decider that wrote it. */
  version: number;
  state: unknown;
}

export interface SnapshotStore {
  /** Null when there is none, or when the database is away: a snapshot only saves time. */
  get(subject: string): Promise<Snapshot | null>;
  /** Never replaces a later one. */
  put(subject: string, snapshot: Snapshot): Promise<void>;
}

/**
 * Snapshots in the service's own schema. State is stored as JSON, so a decider whose state holds a Map, a Set or a Date
 * gets none (see `EventStore`).
 */
export function postgresSnapshots(pool: Pool, log: Log = () => {}): SnapshotStore {
  return {
    async get(subject) {
      try {
        const { rows } = await pool.query<{ seq: string; version: number; state: unknown }>(
          'select seq, version, state from snapshot where subject = $1',
          [subject],
        );
        const row = rows[0];
        return row ? { ...row, seq: Number(row.seq) } : null;
      } catch (error) {
        log('warn', 'no snapshot could be read, loading from the log', { subject, error: String(error) });
        return null;
      }
    },
    async put(subject, { seq, version, state }) {
      await pool.query(
        `insert into snapshot (subject, seq, version, state) values ($1, $2, $3, $4)
         on conflict (subject) do update set seq = excluded.seq, version = excluded.version, state = excluded.state
         where snapshot.seq < excluded.seq or snapshot.version <> excluded.version`,
        [subject, seq, version, JSON.stringify(state)],
      );
    },
  };
}
