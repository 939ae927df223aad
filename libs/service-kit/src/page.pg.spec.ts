import { postgresFixture } from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect } from 'kysely';
import { page, writeCursor } from './page.js';

interface Db {
  things: { workspace_id: string; thing_id: string; rank: number; changed_at: Date; name: string };
}

let postgres: Awaited<ReturnType<typeof postgresFixture>>;
let db: Kysely<Db>;
beforeAll(async () => {
  postgres = await postgresFixture();
  const pool = postgres.pool();
  await pool.query(
    'create table things (workspace_id text, thing_id text, rank int not null, changed_at timestamptz not null, name text not null)',
  );
  db = new Kysely<Db>({ dialect: new PostgresDialect({ pool }) });
  // Three ranks and two times among 23 rows: every page border falls between rows that tie somewhere.
  const rows = Array.from({ length: 23 }, (_, n) => ({
    workspace_id: n === 22 ? 'w2' : 'w1',
    thing_id: `t${String(n * 7).padStart(3, '0')}`,
    rank: n % 3,
    changed_at: new Date(Date.UTC(2026, 0, 5, 10, 0, n % 2, 123)),
    name: 'ä Ω "quoted"',
  }));
  await db.insertInto('things').values(rows).execute();
});
afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
});

const things = (workspace: string, limit: number, cursor?: string) =>
  page(
    db
      .selectFrom('things')
      .select(['things.thing_id', 'rank', 'changed_at', 'name'])
      .where('workspace_id', '=', workspace),
    { limit, cursor },
    {
      order: [
        ['rank', 'desc'],
        ['things.name', 'asc'],
        ['changed_at', 'desc'],
      ],
      id: 'things.thing_id',
    },
  );

async function walk(limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { rows, next_cursor } = await things('w1', limit, cursor);
    ids.push(...rows.map(({ thing_id }) => thing_id));
    if (next_cursor === null) return ids;
    cursor = next_cursor;
  }
}

describe('a page', () => {
  it.each([1, 2, 3, 7, 21])('of %d rows and those behind it give every row once and in order', async (limit) => {
    const whole = await things('w1', 500);
    expect(whole).toMatchObject({ rows: { length: 22 }, next_cursor: null });
    expect(await walk(limit)).toEqual(whole.rows.map(({ thing_id }) => thing_id));
  });

  it('that holds all rows names no next one', async () => {
    expect((await things('w1', 22)).next_cursor).toBeNull();
    expect((await things('none', 5)).next_cursor).toBeNull();
  });

  it('is neither shifted nor doubled by rows that come or go meanwhile', async () => {
    const { rows, next_cursor } = await things('w1', 5);
    const [first] = rows;
    await db.deleteFrom('things').where('thing_id', '=', first!.thing_id).execute();
    const rest = await things('w1', 500, next_cursor!);
    await db
      .insertInto('things')
      .values({ ...first!, workspace_id: 'w1' })
      .execute();
    const seen = [...rows, ...rest.rows].map(({ thing_id }) => thing_id);
    expect(new Set(seen).size).toBe(22);
    expect(seen).toHaveLength(22);
  });

  it('asked for with a cursor of another workspace holds rows of the caller alone', async () => {
    const { next_cursor } = await things('w1', 5);
    const { rows } = await things('w2', 500, next_cursor!);
    expect(rows.map(({ thing_id }) => thing_id)).toEqual(['t154']);
  });

  it.each([
    ['', 'nothing'],
    ['!!', 'no base64url'],
    [Buffer.from('null').toString('base64url'), 'no object'],
    [Buffer.from('{').toString('base64url'), 'no JSON'],
    [Buffer.from('{"k":[1],"id":"x"}').toString('base64url'), 'too few keys'],
    [Buffer.from('{"k":[1,{},"x"],"id":"x"}').toString('base64url'), 'a key that is no value'],
    [Buffer.from('{"k":[1,"a","b"],"id":7}').toString('base64url'), 'an id that is no text'],
    [writeCursor({ k: [1, 'a', 'yesterday-ish'], id: 'x' }), 'a time that is none'],
    [writeCursor({ k: ['one', 'a', '2026-01-05'], id: 'x' }), 'a number that is none'],
    [writeCursor({ k: [1e300, 'a', '2026-01-05'], id: 'x' }), 'a number out of range'],
    [writeCursor({ k: [1, 'a\0', '2026-01-05'], id: 'x' }), 'NUL'],
    [writeCursor({ k: [1, 'a'.repeat(5000), '2026-01-05'], id: 'x' }), 'far too much'],
  ])('is refused for the cursor %p (%s)', async (cursor) => {
    await expect(things('w1', 5, cursor)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'cursor' });
  });

  it('takes a cursor as a value, never as SQL', async () => {
    const { rows } = await things(
      'w1',
      5,
      writeCursor({ k: [1, "' or true --", '2026-01-05'], id: "'; drop table things" }),
    );
    expect(rows.every(({ rank }) => rank <= 1)).toBe(true);
  });
});
