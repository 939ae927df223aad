import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { schemaOf } from '@cortex/contracts/services';
import type { Provisionable } from '@cortex/eventstore';
import pg from 'pg';
import { CliError } from '../exit.js';
import { asOwner } from './database.js';

/** A table that cannot be made of the log. */
export interface KeptTable {
  schema: string;
  table: string;
  /** The proof that writes it; a table of the service's own has none. */
  projection?: string;
}

export interface Dumped {
  schema: string;
  table: string;
  rows: number;
  /** How far the proof had read the log. */
  checkpoint?: { projection: string; seq: string };
}

const { escapeIdentifier: name } = pg;
const BATCH = 500;
const at = ({ schema, table }: Pick<KeptTable, 'schema' | 'table'>): string => `${name(schema)}.${name(table)}`;

/** Every table that the registries call a service's own or a proof's. All others are views of the log. */
export function keptTables(services: readonly Provisionable[]): KeptTable[] {
  return services.flatMap(({ name: service, stateTables = [], projections = [] }) => {
    const schema = schemaOf(service);
    const proofs = projections.filter(({ proof }) => proof !== undefined);
    return [
      ...proofs.flatMap((proof) => proof.tables.map((table) => ({ schema, table, projection: proof.name }))),
      ...stateTables.map((table) => ({ schema, table })),
    ];
  });
}

/** Writes a JSON object per row, numbers as PostgreSQL wrote them. Rows and checkpoint are of one moment. */
export async function dumpTable(client: pg.Client, kept: KeptTable, file: string): Promise<Dumped> {
  const { schema, table, projection } = kept;
  const out = await open(file, 'wx', 0o600);
  try {
    return await asOwner(client, schema, 'isolation level repeatable read, read only', async () => {
      await client.query(`declare kept cursor for select row_to_json(t)::text as row from ${at(kept)} t`);
      const dumped: Dumped = { schema, table, rows: 0 };
      for (;;) {
        const { rows } = await client.query<{ row: string }>(`fetch ${BATCH} from kept`);
        if (rows.length === 0) break;
        await out.writeFile(rows.map(({ row }) => `${row}\n`).join(''));
        dumped.rows += rows.length;
      }
      if (projection === undefined) return dumped;
      const { rows } = await client.query<{ seq: string }>(
        `select seq from ${name(schema)}.projection_checkpoint where projection = $1`,
        [projection],
      );
      return { ...dumped, checkpoint: { projection, seq: rows[0]?.seq ?? '0' } };
    });
  } finally {
    await out.sync();
    await out.close();
  }
}

/** Fills an empty table. Columns that this release has not are left out; those that the file has not get their defaults. */
export async function loadTable(client: pg.Client, dumped: Dumped, file: string): Promise<void> {
  const { schema, table, checkpoint } = dumped;
  await asOwner(client, schema, '', async () => {
    const columns = await columnsOf(client, dumped);
    let rows = 0;
    let batch: string[] = [];
    const flush = async (): Promise<void> => {
      const first = JSON.parse(batch[0] ?? '{}') as object;
      const list = columns.filter((column) => Object.hasOwn(first, column)).map((column) => name(column));
      const { rowCount } = await client.query(
        `insert into ${at(dumped)} (${list.join(', ')}) overriding system value
         select ${list.join(', ')} from json_populate_recordset(null::${at(dumped)}, $1::json)`,
        [`[${batch.join(',')}]`],
      );
      rows += rowCount ?? 0;
      batch = [];
    };
    for await (const line of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity })) {
      if (batch.push(line) === BATCH) await flush();
    }
    if (batch.length > 0) await flush();
    if (rows !== dumped.rows) {
      throw new CliError(`${schema}.${table} has ${rows} rows of ${dumped.rows}; restore again with --replace`);
    }
    await goOnCounting(client, dumped);
    if (checkpoint === undefined) return;
    await client.query(
      `insert into ${name(schema)}.projection_checkpoint (projection, seq) values ($1, $2)
       on conflict (projection) do update set seq = excluded.seq`,
      [checkpoint.projection, checkpoint.seq],
    );
  });
}

/** Rows of all kept tables together; a schema that is not there has none. */
export async function countKept(client: pg.Client, tables: readonly KeptTable[]): Promise<number> {
  let all = 0;
  for (const kept of tables) {
    const there = await client.query<{ found: string | null }>('select to_regclass($1) as found', [at(kept)]);
    if (there.rows[0]?.found === null) continue;
    all += await asOwner(client, kept.schema, 'read only', async () => {
      const { rows } = await client.query<{ n: string }>(`select count(*) as n from ${at(kept)}`);
      return Number(rows[0]?.n);
    });
  }
  return all;
}

/** Without those that are made of others. */
async function columnsOf(client: pg.Client, of: Pick<KeptTable, 'schema' | 'table'>): Promise<string[]> {
  const { rows } = await client.query<{ attname: string }>(
    `select attname from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [at(of)],
  );
  return rows.map(({ attname }) => attname);
}

/** Identity columns go on behind the numbers that were put in. */
async function goOnCounting(client: pg.Client, of: Pick<KeptTable, 'schema' | 'table'>): Promise<void> {
  const { rows } = await client.query<{ attname: string }>(
    `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and attidentity <> ''`,
    [at(of)],
  );
  for (const { attname } of rows) {
    await client.query(
      `select setval(pg_get_serial_sequence($1, $2), greatest(max(${name(attname)}), 1), count(*) > 0) from ${at(of)}`,
      [at(of), attname],
    );
  }
}
