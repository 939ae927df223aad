import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Log } from '@cortex/bus';
import { streamOf } from '@cortex/contracts';
import pg, { type ClientConfig } from 'pg';
import { applyBatch, type Applied } from './apply-batch.js';
import { orderedBatches } from './ordered-batches.js';
import type { Projection } from './projection.js';
import { ProjectorConnection, tryLock } from './projector-connection.js';
import { consumerState, Patience, type Delivered } from './pull.js';

export interface ProjectionLag {
  projection: string;
  /** Highest sequence that this instance applied or read; null before it knows. */
  seq: number | null;
  /** Messages of its subject that are not applied yet; null when unknown (the bus is away). */
  pending: number | null;
  /** True when this instance runs it. */
  active: boolean;
  /** Messages and events left out by this instance: no commits of their subject, or of a newer release. */
  skipped: number;
  /** Why the last batch was not applied; it is tried again. */
  error?: string;
}

export interface ProjectionRunnerOptions {
  bus: Bus;
  /** Schema of the service. */
  schema: string;
  /** Of the projector role. */
  database: ClientConfig;
  projections: readonly Projection[];
  /** After each batch, for hints to other instances. What it throws is logged. */
  onBatch?: (projection: string, batch: { seq: number; workspaces: ReadonlySet<string> }) => void;
  log?: Log;
}

interface Running {
  projection: Projection;
  seq: number | null;
  active: boolean;
  skipped: number;
  error?: string;
  listeners: Set<() => void>;
}

/**
 * The locks of a host that vanished without a word are the server's to take away, and by the kernel's default it would notice after two
 * hours: until then no other instance could go on with its views. With these it takes ten seconds.
 */
const LET_GO_OF_THE_DEAD = '-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3';
const STANDBY_MS = 1000;
const LONGEST_PAUSE_MS = 2000;

/** Another instance has the projection. */
class NotOurs extends Error {}

/**
 * Applies the log to the views of one service. Of several instances one runs a projection, the others stand by. Waits out
 * a bus or a database that is away; a handler that throws holds its projection at that commit and shows in `lag`.
 */
export class ProjectionRunner {
  readonly #options: ProjectionRunnerOptions;
  readonly #log: Log;
  readonly #connection: ProjectorConnection;
  readonly #running: Map<string, Running>;
  readonly #stop = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(options: ProjectionRunnerOptions) {
    this.#options = options;
    this.#log = options.log ?? (() => {});
    this.#connection = new ProjectorConnection({
      application_name: `${options.schema} projections`,
      ...options.database,
      options: `-c search_path=${options.schema} ${LET_GO_OF_THE_DEAD}`,
    });
    const idle = (projection: Projection): [string, Running] => [
      projection.name,
      { projection, seq: null, active: false, skipped: 0, listeners: new Set() },
    ];
    this.#running = new Map(options.projections.map(idle));
  }

  start(): void {
    if (this.#loops.length > 0) return;
    this.#loops = [...this.#running.values()].map((running) => this.#loop(running));
  }

  /** Finishes the batch that is being applied and hands the rest back. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
    await this.#connection.close();
  }

  async lag(): Promise<ProjectionLag[]> {
    return Promise.all(
      [...this.#running.values()].map(async ({ projection: { name, subject }, seq, active, skipped, error }) => {
        const state = await consumerState(this.#options.bus, streamOf(subject), name).catch(() => null);
        const pending = state && state.num_pending + state.num_ack_pending;
        return { projection: name, seq, pending, active, skipped, ...(error !== undefined && { error }) };
      }),
    );
  }

  /** Resolves true when this instance has applied the sequence, false after `ms`, or at once when it does not run it. */
  async reached(projection: string, seq: number, ms: number): Promise<boolean> {
    const running = this.#running.get(projection);
    if (!running?.active) return false;
    const there = () => (running.seq ?? 0) >= seq;
    if (there()) return true;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        running.listeners.delete(look);
        resolve(there());
      };
      const look = () => there() && end();
      const timer = setTimeout(end, ms);
      running.listeners.add(look);
    });
  }

  /**
   * Deletes rows of a view that it keeps no longer, so many at a time that batches go on in between; answers how many. The rows are the
   * projector's, so nobody else can. `id` is the table's key.
   */
  async deleteWhere(options: {
    table: string;
    id: string;
    /** Of time or number; what is below `before` goes. */
    column: string;
    before: Date | number;
    batch: number;
    signal?: AbortSignal;
  }): Promise<number> {
    const { column, before, batch, signal } = options;
    const [table, id, at] = [options.table, options.id, column].map((text) => pg.escapeIdentifier(text));
    const text = `delete from ${table} where ${id} in (select ${id} from ${table} where ${at} < $1 order by ${at} limit $2)`;
    let deleted = 0;
    for (;;) {
      signal?.throwIfAborted();
      const { rowCount } = await this.#connection.use(({ client }) => client.query(text, [before, batch]));
      deleted += rowCount ?? 0;
      if ((rowCount ?? 0) < batch) return deleted;
    }
  }

  async #loop(running: Running): Promise<void> {
    const { signal } = this.#stop;
    const { name, subject } = running.projection;
    const patience = new Patience();
    let pause = 50;
    while (!signal.aborted) {
      try {
        running.seq = await this.#lock(name);
        running.active = true;
        const batches = orderedBatches({
          bus: this.#options.bus,
          stream: streamOf(subject),
          subject,
          consumer: name,
          applied: running.seq,
          reread: running.projection.proof !== undefined,
          patience,
          signal,
          log: this.#log,
        });
        for await (const batch of batches) {
          await this.#apply(running, batch);
          pause = 50;
        }
      } catch (error) {
        running.active = false;
        if (error instanceof NotOurs) {
          await rest(STANDBY_MS, signal);
          continue;
        }
        this.#fail(running, error);
        await rest(pause, signal);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
    running.active = false;
  }

  /** The same batch until it is applied: it is the oldest there is, so nothing can be done before it. */
  async #apply(running: Running, batch: Delivered[]): Promise<void> {
    const { bus, onBatch } = this.#options;
    const { projection } = running;
    for (let pause = 50; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const applied = await this.#connection.use(async (connected) => {
          // Lost with a lost connection; another instance may have it by now, and then this batch is its.
          if (!(await tryLock(connected, this.#key(projection.name)))) throw new NotOurs();
          return applyBatch(connected.client, projection, batch);
        });
        const last = batch.reduce((a, b) => (b.seq > a.seq ? b : a));
        // Of what was read again there is nothing to acknowledge.
        if (last.ack !== '') bus.publish(last.ack, '+ACK');
        this.#moved(running, applied);
        try {
          if (applied.messages > 0) onBatch?.(projection.name, { seq: applied.seq, workspaces: applied.workspaces });
        } catch (error) {
          this.#log('error', 'a hint after a batch failed', { projection: projection.name, error: String(error) });
        }
        return;
      } catch (error) {
        if (error instanceof NotOurs || this.#stop.signal.aborted) throw error;
        this.#fail(running, error);
        await rest(pause, this.#stop.signal);
      }
    }
  }

  #moved(running: Running, applied: Applied): void {
    delete running.error;
    running.seq = applied.seq;
    running.skipped += applied.skipped.length;
    for (const skipped of applied.skipped) {
      this.#log('warn', 'skipped a message', { projection: running.projection.name, ...skipped });
    }
    for (const look of running.listeners) look();
  }

  #fail(running: Running, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    if (running.error !== text) {
      this.#log('warn', 'a projection waits', { projection: running.projection.name, error: text });
    }
    running.error = text;
  }

  /** Takes the projection and tells where it stands. */
  async #lock(projection: string): Promise<number> {
    return this.#connection.use(async (connected) => {
      if (!(await tryLock(connected, this.#key(projection)))) throw new NotOurs();
      const { rows } = await connected.client.query<{ seq: string }>(
        'select seq from projection_checkpoint where projection = $1',
        [projection],
      );
      return Number(rows[0]?.seq ?? 0);
    });
  }

  #key(projection: string): string {
    return `${this.#options.schema}.${projection}`;
  }
}

const rest = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
