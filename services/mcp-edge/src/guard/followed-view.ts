import type { Bus } from '@cortex/bus';
import { streamOf } from '@cortex/contracts';
import type { Projection } from '@cortex/eventstore';
import { consumerState } from '@cortex/eventstore/pull';
import type { Pool } from '@cortex/eventstore/pool';
import type { GateTables } from '../projections/tables.js';
import type { GateMemory, GateRow } from './gate-memory.js';

/**
 * One projection of the gates as this process holds it in memory, and as of when. `asOf` is the newest moment of which it is known that
 * everything then stored in the log is held here; it only grows.
 */
export class FollowedView {
  #asOf = -Infinity;
  #seq: number | null = null;
  /** What the consumer had given out when nothing was left to do and all of it was held here. */
  #settled: number | undefined;
  /** What was stored at a moment when the projection still had work: held here, `asOf` is that moment. */
  #mark: { at: number; seq: number } | undefined;
  #loading: Promise<void> | undefined;
  #again = false;

  constructor(
    readonly projection: Projection,
    private readonly memory: GateMemory,
    private readonly pool: Pool,
    private readonly bus: Bus,
    /** Told when `asOf` has moved. */
    private readonly moved: () => void,
  ) {}

  /** `performance.now()`. */
  get asOf(): number {
    return this.#asOf;
  }

  /** Sequence of the checkpoint up to which rows are held; null before the first load. */
  get seq(): number | null {
    return this.#seq;
  }

  get #tables(): readonly (keyof GateTables)[] {
    return this.projection.tables as readonly (keyof GateTables)[];
  }

  /** Whether it lags the log, and by how much less than a moment ago. Rejects when bus or, where something may have moved, database is away. */
  async look(): Promise<void> {
    const { name, subject } = this.projection;
    const at = performance.now();
    const { num_pending, num_ack_pending, delivered } = await consumerState(this.bus, streamOf(subject), name);
    const idle = num_pending === 0 && num_ack_pending === 0;
    // Nothing has come since everything was held: that needs no database, so calls go on while it is away.
    if (idle && delivered.consumer_seq === this.#settled) this.#heldAt(at);
    if (!idle && this.#mark === undefined) {
      const last = await this.bus.direct.lastFromLeader(streamOf(subject), subject);
      if (last !== null) this.#mark = { at, seq: last.seq };
    }
    await this.load();
    if (!idle) return;
    this.#heldAt(at);
    this.#settled = delivered.consumer_seq;
    this.#mark = undefined;
  }

  #heldAt(moment: number): void {
    this.#asOf = Math.max(this.#asOf, moment);
    this.moved();
  }

  /** A hint that the checkpoint is at least there. */
  hinted(seq: number): void {
    if (this.#seq !== null && this.#seq >= seq) return;
    this.load().catch(() => undefined); // the next look says it
  }

  /** Reads what changed; one that is asked for while one runs begins after it, so it sees what was there when it was asked for. */
  load(): Promise<void> {
    if (this.#loading !== undefined) {
      this.#again = true;
      return this.#loading;
    }
    this.#loading = this.#loadAll().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  async #loadAll(): Promise<void> {
    do {
      this.#again = false;
      await this.#loadOnce();
    } while (this.#again);
  }

  async #loadOnce(): Promise<void> {
    let read = await this.#read(this.#seq ?? -1);
    if (read.seq < (this.#seq ?? 0)) {
      // Another database than the one that was read before: what it lacks must be forgotten here too.
      read = await this.#read(-1);
      this.memory.forget(this.#tables);
    }
    for (const table of this.#tables) {
      const put = this.memory.put[table] as (row: GateRow<typeof table>) => void;
      for (const row of read.rows[table]) put(row);
    }
    this.#seq = read.seq;
    if (this.#mark === undefined || read.seq < this.#mark.seq) return;
    this.#heldAt(this.#mark.at);
    this.#mark = undefined;
  }

  /** Checkpoint and rows in one statement, so they are of one moment. */
  async #read(above: number): Promise<{ seq: number; rows: Record<keyof GateTables, never[]> }> {
    const rows = this.#tables.map(
      (table) => `(select coalesce(jsonb_agg(to_jsonb(t)), '[]') from ${table} t where t.seq > $2) as ${table}`,
    );
    const checkpoint = 'coalesce((select seq from projection_checkpoint where projection = $1), 0) as seq';
    const { rows: found } = await this.pool.query<{ seq: string } & Record<keyof GateTables, never[]>>(
      `select ${checkpoint}, ${rows.join(', ')}`,
      [this.projection.name, above],
    );
    const [read] = found;
    if (read === undefined) throw new Error('a select without from gave no row');
    return { seq: Number(read.seq), rows: read };
  }
}
