import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { defineMigrations, defineProof, type Provisionable } from '@cortex/eventstore';
import { postgresFixture, tempDir, type PostgresFixture } from '@cortex/testing';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadDefinitions } from '../provision.js';
import { withDatabase } from './database.js';
import { countKept, dumpTable, keptTables, loadTable } from './kept-tables.js';

const service: Provisionable = {
  name: 'ticket',
  tools: [],
  stateTables: ['notes'],
  projections: [
    defineProof({ name: 'hashes_v1', subject: 'cortex.call.>', tables: ['hashes'], proof: () => Promise.resolve() }),
  ],
  migrations: defineMigrations({
    '0001_kept': {
      up: async (db: Kysely<unknown>) => {
        await sql`create table notes (
          n bigint generated always as identity primary key, workspace_id text not null, body text, at timestamptz not null,
          size integer generated always as (length(body)) stored, tags text[] not null default '{}')`.execute(db);
        await sql`create table hashes (seq bigint primary key, hash bytea not null)`.execute(db);
      },
    },
  }),
};

let from: PostgresFixture;
let to: PostgresFixture;
let dir: string;
beforeAll(async () => {
  dir = await tempDir('tables');
  from = await postgresFixture([service]);
  to = await postgresFixture([service]);
});
afterAll(async () => {
  await from[Symbol.asyncDispose]();
  await to[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

it('rows of state tables and proofs come back as they were, with the checkpoint of the proof', async () => {
  await from.pool().query(
    `insert into ticket.notes (workspace_id, body, at, tags)
     select 'w' || i % 3, case when i % 7 = 0 then null else 'line' || chr(10) || '"' || i || '" \\ é' end, now(), array['a,b', '{}']
       from generate_series(1, 1203) i`,
  );
  await from.pool().query(`insert into ticket.hashes values (9007199254740993, '\\x00ff')`);
  await from.pool().query(`insert into ticket.projection_checkpoint values ('hashes_v1', 9007199254740993)`);
  const kept = keptTables([service]);
  expect(kept).toEqual([
    { schema: 'ticket', table: 'hashes', projection: 'hashes_v1' },
    { schema: 'ticket', table: 'notes' },
  ]);
  expect(await withDatabase(to.adminUrl, (client) => countKept(client, kept))).toBe(0);
  for (const table of kept) {
    const file = join(dir, table.table);
    const dumped = await withDatabase(from.adminUrl, (client) => dumpTable(client, table, file));
    await withDatabase(to.adminUrl, (client) => loadTable(client, dumped, file));
  }
  for (const table of ['notes', 'hashes', 'projection_checkpoint']) {
    const [before, after] = await Promise.all(
      [from, to].map((place) => place.pool().query(`select * from ticket.${table} order by 1`)),
    );
    expect(after?.rows).toEqual(before?.rows);
  }
  expect(await withDatabase(to.adminUrl, (client) => countKept(client, kept))).toBe(1204);
  // New rows are numbered behind those.
  const { rows } = await to
    .pool()
    .query(`insert into ticket.notes (workspace_id, at) values ('w', now()) returning n::text`);
  expect(rows).toEqual([{ n: '1204' }]);
});

it('a file with fewer rows than were written is refused, and nothing of it stays', async () => {
  const empty = await postgresFixture([service]);
  try {
    const file = join(dir, 'notes');
    const load = withDatabase(empty.adminUrl, (client) =>
      loadTable(client, { schema: 'ticket', table: 'notes', rows: 5000 }, file),
    );
    await expect(load).rejects.toThrow('ticket.notes has 1203 rows of 5000; restore again with --replace');
    expect(await withDatabase(empty.adminUrl, (client) => countKept(client, keptTables([service])))).toBe(0);
  } finally {
    await empty[Symbol.asyncDispose]();
  }
});

it('people, the proof of the audit trail and rejected signals are all that no log can make again', async () => {
  const names = keptTables(await loadDefinitions()).map(({ schema, table }) => `${schema}.${table}`);
  expect(names).toEqual(['mcp_edge.people', 'waitpoint.rejections', 'audit.call_chain']);
});
