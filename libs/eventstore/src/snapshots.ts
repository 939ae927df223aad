export interface Snapshot {
  seq: number;
  version: number;
  state: unknown;
}

export interface SnapshotStore {
  /** Null when there is none, or when the database is away: a snapshot only saves time. */
  get(subject: string): Promise<Snapshot | null>;
  put(subject: string, snapshot: Snapshot): Promise<void>;
}
