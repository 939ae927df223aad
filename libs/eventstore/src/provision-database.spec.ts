import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SERVICES } from '@cortex/contracts';
import { counterMigrations, counters, eventually, postgresFixture, type PostgresFixture } from '@cortex/testing';
import { sql, type Kysely } from 'kysely';
import type pg from 'pg';
import { defineMigrations, type Migrations } from './projection.js';
import { missingMigrations, provisionDatabase, type Provisionable } from './provision-database.js';
import { createPool, stateDb, tenantDb } from './tenant-db.js';

const notes: Migrations = {
  '0002_notes': {
    up: (db: Kysely<unknown>) =>
      db.schema.createTable('notes').addColumn('workspace_id', 'text').addColumn('body', 'text').execute(),
  },
};
const ticket: Provisionable = {
  name: 'ticket',
  tools: [],
  projections: [counters],
  migrations: defineMigrations({ ...counterMigrations, ...notes }),
  stateTables: ['notes'],
};
const audit: Provisionable = { name: 'audit', tools: [] };

describe('the database', () => {
  let database: PostgresFixture;
  let pool: pg.Pool;
  const as = (role: string) => {
    const url = new URL(database.adminUrl);
    [url.username, url.password] = [role, database.passwordOf(role)];
    return createPool({ connectionString: url.href, max: 2 });
  };
  const pools: pg.Pool[] = [];
  const provision = (services: readonly Provisionable[]) =>
    provisionDatabase({
      adminUrl: database.adminUrl,
      services,
      passwords: Object.fromEntries(
        SERVICES.flatMap((name) => [name, `${name}_projector`]).map((role) => [role, database.passwordOf(role)]),
      ),
    });

  beforeAll(async () => {
    database = await postgresFixture([ticket, audit]);
    pool = as('ticket');
    pools.push(pool);
    const projector = as('ticket_projector');
    pools.push(projector);
    await projector.query(
      `insert into counters (workspace_id, counter_id, total) values ('a', 'x', 1), ('b', 'y', 2), ('_', 'z', 3)`,
    );
  });
  afterAll(async () => {
    await Promise.all(pools.map((one) => one.end()));
    await database[Symbol.asyncDispose]();
  });

  it('is provisioned again without a change, and says which migrations a schema lacks', async () => {
    await provision([ticket, audit]);
    expect(await missingMigrations(pool, 'ticket', ticket.migrations ?? {})).toEqual([]);
    const newer = { ...ticket.migrations, '0003_more': { up: () => Promise.resolve() } };
    expect(await missingMigrations(pool, 'ticket', newer)).toEqual(['0003_more']);
    expect(await missingMigrations(pool, 'nowhere', newer)).toHaveLength(3);
  });

  it('T85 shows one workspace only, also when a query has no WHERE', async () => {
    const rows = (workspace: string) =>
      tenantDb<{ counters: { counter_id: string } }>(pool, workspace)
        .selectFrom('counters')
        .select('counter_id')
        .execute();
    expect(await rows('a')).toEqual([{ counter_id: 'x' }]);
    expect(await rows('b')).toEqual([{ counter_id: 'y' }]);
    expect(await rows('_')).toEqual([{ counter_id: 'z' }]);
    expect(await rows('c')).toEqual([]);
    // The two at once on one pool: the setting goes with its transaction, not with the connection.
    const many = await Promise.all(Array.from({ length: 50 }, (_, i) => rows(i % 2 ? 'a' : 'b')));
    expect(new Set(many.map((found, i) => `${i % 2}${JSON.stringify(found)}`)).size).toBe(2);
  });

  it('T85 shows nothing to the service without a workspace, and there is no reader without one', async () => {
    expect((await pool.query('select * from counters')).rows).toEqual([]);
    for (const bad of ['', "a'; select 1; --", 'a b', '*']) {
      expect(() => tenantDb(pool, bad)).toThrow(expect.objectContaining({ kind: 'invalid_argument' }));
    }
  });

  it('T85 refuses a row of another workspace, and takes one of its own', async () => {
    type Notes = { notes: { workspace_id: string; body: string } };
    const db = stateDb<Notes>(pool, 'a');
    await db.insertInto('notes').values({ workspace_id: 'a', body: 'mine' }).execute();
    await expect(db.insertInto('notes').values({ workspace_id: 'b', body: 'x' }).execute()).rejects.toThrow(
      /row-level security/,
    );
    const { numUpdatedRows } = await stateDb<Notes>(pool, 'b')
      .updateTable('notes')
      .set({ body: 'y' })
      .executeTakeFirstOrThrow();
    expect(numUpdatedRows).toBe(0n);
    expect(await tenantDb<Notes>(pool, 'a').selectFrom('notes').select('body').execute()).toEqual([{ body: 'mine' }]);
  });

  it('a transaction of a writer is undone as a whole, and a reader writes nothing', async () => {
    type Notes = { notes: { workspace_id: string; body: string } };
    const undone = stateDb<Notes>(pool, 'a')
      .transaction()
      .execute(async (tx) => {
        await tx.insertInto('notes').values({ workspace_id: 'a', body: 'undone' }).execute();
        throw new Error('changed my mind');
      });
    await expect(undone).rejects.toThrow('changed my mind');
    expect(
      await tenantDb<Notes>(pool, 'a').selectFrom('notes').select('body').where('body', '=', 'undone').execute(),
    ).toEqual([]);
    const write = tenantDb<Notes>(pool, 'a').insertInto('notes').values({ workspace_id: 'a', body: 'x' }).execute();
    await expect(write).rejects.toThrow(/read-only/);
    await expect(sql`select * from nowhere`.execute(tenantDb(pool, 'a'))).rejects.toThrow(/nowhere/);
    expect(await tenantDb<Notes>(pool, 'a').selectFrom('notes').select('body').execute()).toHaveLength(1);
  });

  it('lets the service write no view, the projector no table of the service, and neither change the schema', async () => {
    const projector = pools[1]!;
    await expect(pool.query(`insert into counters (workspace_id, counter_id) values ('a', 'q')`)).rejects.toThrow(
      /permission denied/,
    );
    await expect(pool.query(`update projection_checkpoint set seq = 0`)).rejects.toThrow(/permission denied/);
    await expect(projector.query(`insert into notes values ('a', 'x')`)).rejects.toThrow(/permission denied/);
    for (const one of [pool, projector]) {
      await expect(one.query('alter table counters disable row level security')).rejects.toThrow(/must be owner/);
      await expect(one.query('create table more (x int)')).rejects.toThrow(/permission denied/);
      await expect(one.query('select * from audit.projection_checkpoint')).rejects.toThrow(/permission denied/);
    }
    const { rows } = await database
      .pool()
      .query(
        `select rolname from pg_roles where rolname in ('ticket', 'ticket_projector', 'ticket_owner') and (rolsuper or rolbypassrls or rolcreaterole)`,
      );
    expect(rows).toEqual([]);
  });

  it('fails by name for a table that nobody owns, that two own, that is missing, and for a view past row-level security', async () => {
    await expect(provision([{ ...ticket, stateTables: [] }])).rejects.toThrow(/table ticket.notes has no owner/);
    await expect(provision([{ ...ticket, stateTables: ['notes', 'counters'] }])).rejects.toThrow(
      /ticket.counters is written by/,
    );
    await expect(provision([{ ...ticket, stateTables: ['notes', 'gone'] }])).rejects.toThrow(
      /ticket.gone of stateTables does not exist/,
    );
    const peek = (how: string): Provisionable => ({
      ...ticket,
      migrations: {
        ...ticket.migrations,
        '0003_peek': {
          up: async (db: Kysely<unknown>) => {
            await sql.raw(`create or replace view peek ${how} as select * from counters`).execute(db);
          },
        },
      },
    });
    await expect(provision([peek('')])).rejects.toThrow(/view ticket.peek reads past row-level security/);
    await database.pool().query(`drop view ticket.peek; delete from ticket.kysely_migration where name = '0003_peek'`);
    await provision([peek('with (security_invoker = true)')]);
    const peeked = await tenantDb<{ peek: { counter_id: string } }>(pool, 'a')
      .selectFrom('peek')
      .select('counter_id')
      .execute();
    expect(peeked).toEqual([{ counter_id: 'x' }]);
    await database.pool().query(`drop view ticket.peek; delete from ticket.kysely_migration where name = '0003_peek'`);
  });

  it('a migration that fails is named, and leaves the ones before it', async () => {
    const bad = {
      ...ticket,
      migrations: { ...ticket.migrations, '0009_bad': { up: () => Promise.reject(new Error('no')) } },
    };
    await expect(provision([bad])).rejects.toThrow(/migration 0009_bad of schema ticket failed: no/);
    await provision([ticket]);
  });

  it('a broken connection of a reader fails its query and no other, and does not end the process', async () => {
    const slow = sql`select pg_sleep(5)`.execute(tenantDb(pool, 'a'));
    await eventually(async () => {
      const { rowCount } = await database
        .pool()
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ticket' and query like '%pg_sleep%'`,
        );
      return rowCount === 1;
    });
    await expect(slow).rejects.toThrow(/terminat/);
    await eventually(async () => (await sql`select 1`.execute(tenantDb(pool, 'a'))).rows.length === 1);
  });
});
