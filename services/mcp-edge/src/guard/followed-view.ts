import type { Bus } from '@cortex/bus';
import { streamOf } from '@cortex/contracts';
import type { Projection } from '@cortex/eventstore';
import type { Pool } from '@cortex/eventstore/pool';
import { consumerState } from '@cortex/eventstore/pull';
import type { GateTables } from '../projections/tables.js';
import type { GateMemory, GateRow } from './gate-memory.js';

export interface FollowedViewOptions {
  projection: Projection;
  memory: GateMemory;
  /** Of the service's role. */
  pool: Pool;
  bus: Bus;
  /** Told when `asOf` has moved. */
  moved: () => void;
}

/**
 * One projection of the gates as this process holds it in memory, and as of when: `asOf` is the newest moment of which it is known that
 * everything that the log then held is held here.
 */
export class FollowedView {
  /** Why rows could not be read the last time. */
  problem: string | undefined;
  #asOf = -Infinity;
  #seq: number | null = null;
  /** How much the consumer had given out when nothing was left to do and all of it was held here. */
  #settled: number | undefined;
  /** What the log held at a moment: once that is held here, `asOf` is that moment, and `given` (unless there was work left) is settled. */
  #mark: { at: number; seq: number; given: number | undefined } | undefined;
  #loading: Promise<void> | undefined;
  #again = false;

  constructor(private readonly options: FollowedViewOptions) {}

  get projection(): Projection {
    return this.options.projection;
  }

  /** `performance.now()`; only grows. */
  get asOf(): number {
    return this.#asOf;
  }

  /** Sequence of the checkpoint up to which rows are held; null before the first load. */
  get seq(): number | null {
    return this.#seq;
  }

  /** Compares with the log; never waits for the database. Rejects while the bus is away. */
  async look(): Promise<void> {
    const { bus } = this.options;
    const { name, subject } = this.projection;
    const at = performance.now();
    const { num_pending, num_ack_pending, delivered } = await consumerState(bus, streamOf(subject), name);
    const given = num_pending === 0 && num_ack_pending === 0 ? delivered.consumer_seq : undefined;
    // Nothing has come since everything was held: the cheap answer, and almost always the one.
    if (given !== undefined && given === this.#settled) return this.#heldAt(at);
    if (this.#mark === undefined) {
      const last = await bus.direct.lastFromLeader(streamOf(subject), subject);
      this.#mark = { at, seq: last?.seq ?? 0, given };
    }
    if (!this.#reached()) void this.#load();
  }

  /** What the checkpoint is said to be: by a hint of whoever moved it, or by the database. */
  checkpoint(seq: number): void {
    if (seq !== this.#seq) void this.#load();
  }

  /** Everything up to the checkpoint is held, so what was stored at the mark is, once the checkpoint is there. */
  #reached(): boolean {
    if (this.#mark === undefined || this.#seq === null || this.#seq < this.#mark.seq) return false;
    const { at, given } = this.#mark;
    this.#mark = undefined;
    this.#settled = given ?? this.#settled;
    this.#heldAt(at);
    return true;
  }

  #heldAt(moment: number): void {
    if (moment <= this.#asOf) return;
    this.#asOf = moment;
    this.options.moved();
  }

  /** Reads what changed. Asked for while one runs it begins again after it, so it sees what was there when it was asked for. */
  async #load(): Promise<void> {
    this.#again = true;
    this.#loading ??= this.#loadAll().finally(() => (this.#loading = undefined));
    try {
      await this.#loading;
      this.problem = undefined;
    } catch (error) {
      this.problem = (error as Error).message;
    }
  }

  async #loadAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.#loadOnce();
    }
  }

  async #loadOnce(): Promise<void> {
    const { memory } = this.options;
    const tables = this.projection.tables as readonly (keyof GateTables)[];
    let read = await this.#read(tables, this.#seq ?? -1);
    if (read.seq < (this.#seq ?? 0)) {
      // Another database than the one that was read before: what that lacks must be forgotten here too.
      read = await this.#read(tables, -1);
      memory.forget(tables);
      this.#settled = undefined;
    }
    for (const table of tables) {
      const put = memory.put[table] as (row: GateRow<typeof table>) => void;
      for (const row of read.rows[table]) put(row);
    }
    this.#seq = read.seq;
    this.#reached();
  }

  /** Checkpoint and rows in one statement, so they are of one moment. */
  async #read(
    tables: readonly (keyof GateTables)[],
    above: number,
  ): Promise<{ seq: number; rows: Record<keyof GateTables, never[]> }> {
    const rows = tables.map(
      (table) => `(select coalesce(jsonb_agg(to_jsonb(t)), '[]') from ${table} t where t.seq > $2) as ${table}`,
    );
    const checkpoint = 'coalesce((select seq from projection_checkpoint where projection = $1), 0) as seq';
    const { rows: found } = await this.options.pool.query<{ seq: string } & Record<keyof GateTables, never[]>>(
      `select ${checkpoint}, ${rows.join(', ')}`,
      [this.projection.name, above],
    );
    const [read] = found;
    if (read === undefined) throw new Error('a select without from gave no row');
    return { seq: Number(read.seq), rows: read };
  }
}
