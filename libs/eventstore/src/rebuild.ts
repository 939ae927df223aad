import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Log } from '@cortex/bus';
import { isCortexError, schemaOf, sha256Hex, streamOf } from '@cortex/contracts';
import { AckPolicy, DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import pg from 'pg';
import { applyBatch } from './apply-batch.js';
import { connectAdmin } from './connect-admin.js';
import { adminConfig } from './pool.js';
import type { Projection } from './projection.js';
import { BATCH } from './provision-bus.js';
import { migrateSchema, type Provisionable } from './provision-database.js';
import { consumerState, Pull, PullLost, streamState, type Delivered } from './pull.js';
import { secureSchema } from './secure-schema.js';

export interface RebuildOptions {
  /** As the provisioning user: a rebuild makes a consumer of its own. */
  bus: Bus;
  adminUrl: string;
  service: Provisionable;
  projection: Projection;
  /** After every batch. */
  onProgress?: (progress: { applied: number; pending: number }) => void;
  signal?: AbortSignal;
  log?: Log;
}

export interface Rebuilt {
  /** Commits and records of the projection's subject. */
  applied: number;
  /** The checkpoint of the fresh copy. */
  seq: number;
  skipped: number;
}

const { escapeIdentifier: name } = pg;
const SWAP_TRIES = 40;
const SWAP_PAUSE_MS = 250;

/**
 * Fills a fresh copy of the projection's tables in a schema beside the live one, while that serves and goes on, then swaps
 * them in one transaction in which the checkpoint is locked. Nothing but tables is written: reactors have no part in it.
 * The copy is what the service's migrations make, so these may name no schema.
 */
export async function rebuildProjection(options: RebuildOptions): Promise<Rebuilt> {
  const { bus, adminUrl, service, projection, signal } = options;
  if (projection.proof !== undefined)
    throw new Error(
      `${projection.name} proves what the log held when it was written; made anew it would prove nothing`,
    );
  const schema = schemaOf(service.name);
  const shadow = `${schema}_rebuild_${sha256Hex(projection.name).slice(0, 8)}`;
  const admin = await connectAdmin(adminUrl);
  const copy = new pg.Client({
    ...adminConfig(adminUrl),
    options: `-c role=${schema}_owner -c search_path=${shadow} -c synchronous_commit=off`,
    pipeline: true,
  });
  copy.on('error', () => {}); // what broke is told by the query that meets it
  const source = new RebuildSource(options);
  let ours = false;
  const rebuilt: Rebuilt = { applied: 0, seq: 0, skipped: 0 };
  const advance = async (): Promise<number> => {
    signal?.throwIfAborted();
    const batch = await source.next();
    if (batch.length > 0) {
      const applied = await applyBatch(copy, projection, batch);
      rebuilt.applied += applied.messages;
      rebuilt.seq = applied.seq;
      rebuilt.skipped += applied.skipped.length;
    }
    options.onProgress?.({ applied: rebuilt.applied, pending: source.pending });
    return source.pending;
  };
  try {
    const { rows } = await admin.query<{ got: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as got',
      [shadow],
    );
    if (!rows[0]?.got) throw new Error(`projection ${projection.name} is being rebuilt already; wait for its end`);
    ours = true;
    await admin.query(`drop schema if exists ${name(shadow)} cascade`);
    await admin.query(`create schema ${name(shadow)} authorization ${name(`${schema}_owner`)}`);
    await migrateSchema(adminUrl, shadow, service.migrations ?? {}, `${schema}_owner`);
    await copy.connect();
    while ((await advance()) > BATCH);
    // As near to the end as events that go on arriving permit; the live copy waits for the rest.
    for (let tries = 0; tries < 5 && (await advance()) > 0; tries++);
    await swap({ bus, admin, schema, shadow, service, projection, rebuilt, advance });
    return rebuilt;
  } finally {
    await source.close();
    await copy.end().catch(() => {});
    if (ours) await admin.query(`drop schema if exists ${name(shadow)} cascade`).catch(() => {});
    await admin.end();
  }
}

/** The consumer of a rebuild may live on a node of the cluster that lags, and be at its end before the log is. */
class Behind extends Error {}

interface Swap {
  bus: Bus;
  admin: pg.Client;
  schema: string;
  shadow: string;
  service: Provisionable;
  projection: Projection;
  rebuilt: Rebuilt;
  advance: () => Promise<number>;
}

/** Gives up its locks before a reader that holds one of two tables could wait for it in a ring, and tries again. */
async function swap(parts: Swap): Promise<void> {
  for (let left = SWAP_TRIES; ; left--) {
    try {
      await parts.admin.query(`begin; set local lock_timeout = '500ms'`);
      await swapOnce(parts);
      await parts.admin.query('commit');
      return;
    } catch (error) {
      await parts.admin.query('rollback').catch(() => {});
      const code = (error as { code?: string }).code;
      const busy = code === '55P03' || code === '40P01' || error instanceof Behind;
      if (!busy || left === 0) throw error;
      await sleep(SWAP_PAUSE_MS);
      await parts.advance();
    }
  }
}

async function swapOnce({ bus, admin, schema, shadow, service, projection, rebuilt, advance }: Swap): Promise<void> {
  const live = await admin.query<{ seq: string }>(
    `insert into ${name(schema)}.projection_checkpoint (projection, seq) values ($1, 0)
     on conflict (projection) do update set seq = projection_checkpoint.seq returning seq`,
    [projection.name],
  );
  // From here on the live runner waits. What it had applied is in the log, so the copy can reach it.
  const reached = Number(live.rows[0]?.seq);
  while (rebuilt.seq < reached && (await advance()) > 0);
  const stream = streamOf(projection.subject);
  // Unless it left the log since: then there is nothing to reach.
  if (rebuilt.seq < reached && (await bus.direct.nextFromLeader(stream, projection.subject, reached))?.seq === reached)
    throw new Behind(`the bus gives the log up to ${rebuilt.seq}, and the view has it up to ${reached}; try again`);
  const { last_seq } = await streamState(bus, stream);
  const tables = [...projection.tables].sort();
  const list = (from: string) => tables.map((table) => `${name(from)}.${name(table)}`).join(', ');
  await admin.query(`drop table ${list(schema)}`);
  for (const table of tables) {
    await admin.query(`alter table ${name(shadow)}.${name(table)} set schema ${name(schema)}`);
  }
  const before = await shapeOf(admin, schema, tables);
  await admin.query(`drop schema ${name(shadow)} cascade`);
  if ((await shapeOf(admin, schema, tables)) !== before) {
    throw new Error(
      `the tables of ${projection.name} lean on other things of the schema (a type, function or foreign key); ` +
        'make a projection of plain tables, or truncate and replay it by hand',
    );
  }
  // Of a log that was truncated the view had more than there is.
  await admin.query(
    `update ${name(schema)}.projection_checkpoint set seq = least(greatest(seq, $2), $3) where projection = $1`,
    [projection.name, rebuilt.seq, last_seq],
  );
  await secureSchema(admin, schema, service, tables);
}

/** Columns, defaults, constraints and triggers: what dropping the rest of the shadow schema must not take along. */
async function shapeOf(admin: pg.Client, schema: string, tables: readonly string[]): Promise<string> {
  const { rows } = await admin.query<{ shape: string }>(
    `with t as (select c.oid from pg_class c where c.relnamespace = $1::regnamespace and c.relname = any($2))
     select concat_ws('/',
       (select count(*) from pg_attribute a join t on a.attrelid = t.oid where a.attnum > 0 and not a.attisdropped),
       (select count(*) from pg_attrdef d join t on d.adrelid = t.oid),
       (select count(*) from pg_constraint k join t on k.conrelid = t.oid),
       (select count(*) from pg_trigger g join t on g.tgrelid = t.oid),
       (select count(*) from pg_index i join t on i.indrelid = t.oid)) as shape`,
    [name(schema), tables],
  );
  return rows[0]?.shape ?? '';
}

/** The whole log of one projection's subject from its beginning, through a consumer of its own that nobody acknowledges. */
class RebuildSource {
  /** Messages not taken yet; known after the first `next`. */
  pending = 0;
  readonly #options: RebuildOptions;
  readonly #stream: string;
  #consumer: { name: string; pull: Pull; expected: number } | undefined;
  #last = 0;

  constructor(options: RebuildOptions) {
    this.#options = options;
    this.#stream = streamOf(options.projection.subject);
  }

  async next(): Promise<Delivered[]> {
    for (;;) {
      try {
        const consumer = (this.#consumer ??= await this.#open());
        if (this.pending === 0) {
          const { num_pending, delivered } = await consumerState(this.#options.bus, this.#stream, consumer.name);
          // What the server has sent and we have not met is pending to us: its answer may overtake the message itself.
          this.pending = num_pending + delivered.consumer_seq - (consumer.expected - 1);
        }
        if (this.pending === 0 && consumer.pull.buffered === 0) return [];
        const batch = await consumer.pull.next(5000, this.#options.signal);
        for (const { deliverySeq } of batch) {
          if (deliverySeq !== consumer.expected++) throw new PullLost('a message was lost on the way');
        }
        const last = batch.at(-1);
        if (!last) {
          // Of a store that was damaged the server counts messages as pending that it cannot read and never gives.
          const { bus, projection } = this.#options;
          if ((await bus.direct.nextFromLeader(this.#stream, projection.subject, this.#last + 1)) !== null) continue;
          this.pending = 0;
          return [];
        }
        this.pending = last.pending;
        this.#last = last.seq;
        return batch;
      } catch (error) {
        if (!isPassing(error) || this.#options.signal?.aborted) throw error;
        await this.close();
        await sleep(100);
      }
    }
  }

  async #open() {
    const jsm = await jetstreamManager(this.#options.bus.nc);
    const consumer = `rebuild_${randomBytes(6).toString('hex')}`;
    await jsm.consumers.add(this.#stream, {
      durable_name: consumer,
      filter_subject: this.#options.projection.subject,
      ack_policy: AckPolicy.None,
      // Goes by itself when a rebuild dies.
      inactive_threshold: 60e9,
      mem_storage: true,
      ...(this.#last === 0
        ? { deliver_policy: DeliverPolicy.All }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#last + 1 }),
    });
    const pull = new Pull({ bus: this.#options.bus, stream: this.#stream, consumer, batch: BATCH, ahead: true });
    this.pending = 0;
    return { name: consumer, pull, expected: 1 };
  }

  async close(): Promise<void> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    if (!consumer) return;
    consumer.pull.close();
    if (!this.#options.bus.up) return;
    const jsm = await jetstreamManager(this.#options.bus.nc);
    await jsm.consumers.delete(this.#stream, consumer.name).catch(() => {}); // it goes by itself
  }
}

/** A pull that ended, or a bus that cannot tell just now: a new consumer goes on behind what was read. */
const isPassing = (error: unknown): boolean =>
  error instanceof PullLost || (isCortexError(error) && error.kind === 'unavailable');
