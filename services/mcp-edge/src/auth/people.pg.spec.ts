import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, postgresFixture, type PostgresFixture } from '@cortex/testing';
import { Kysely, PostgresDialect } from 'kysely';
import { mcpEdgeService } from '../mcp-edge.module.js';
import type { EdgeDb } from '../projections/tables.js';
import { People, type PersonSeen } from './people.js';

let postgres: PostgresFixture;
let db: Kysely<EdgeDb>;
let now = 1_800_000_000_000;
const logs: string[] = [];

const edge = (on: Kysely<EdgeDb> = db) =>
  new People({ db: on, now: () => now, log: (_, message) => void logs.push(message) });
const dbOf = (fixture: PostgresFixture) =>
  new Kysely<EdgeDb>({ dialect: new PostgresDialect({ pool: fixture.pool('mcp_edge') }) });
const seen = (sub: string, rest: Partial<PersonSeen> = {}): PersonSeen => ({
  issuer: 'https://id.example',
  sub,
  name: 'Alice',
  email: 'alice@example.org',
  scopes: new Set(['b', 'a']),
  ...rest,
});
const rows = () => db.selectFrom('people').selectAll().orderBy('sub').execute();

beforeAll(async () => {
  postgres = await postgresFixture([mcpEdgeService]);
  db = dbOf(postgres);
});
afterAll(async () => postgres[Symbol.asyncDispose]());
beforeEach(async () => {
  await db.deleteFrom('people').execute();
  logs.length = 0;
});

describe('a person', () => {
  it('gets an id at first sight and keeps it, over restarts too', async () => {
    const people = edge();
    const id = await people.idOf(seen('alice'));
    expect(id).toMatch(/^per_[0-9a-f-]{36}$/);
    expect(people.idOf(seen('alice'))).toBe(id);
    expect(await edge().idOf(seen('alice'))).toBe(id);
    expect(await rows()).toMatchObject([
      { person_id: id, sub: 'alice', name: 'Alice', email: 'alice@example.org', scopes: ['a', 'b'] },
    ]);
  });

  it('is another one at another issuer', async () => {
    const people = edge();
    const ids = [await people.idOf(seen('x')), await people.idOf(seen('x', { issuer: 'https://other.example' }))];
    expect(new Set(ids).size).toBe(2);
  });

  it('gets one id from edges that race', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, async () => edge().idOf(seen('bob'))));
    expect(new Set(ids).size).toBe(1);
    expect(await rows()).toHaveLength(1);
  });

  it('is written again at most once a minute, beside the call', async () => {
    const people = edge();
    const id = await people.idOf(seen('alice'));
    now += 59_999;
    expect(people.idOf(seen('alice', { name: 'Early' }))).toBe(id);
    now += 1;
    expect(people.idOf(seen('alice', { name: 'Later', scopes: new Set(['c']) }))).toBe(id);
    expect(people.idOf(seen('alice', { name: 'At once' }))).toBe(id);
    await eventually(async () => (await rows())[0]?.name === 'Later');
    expect(await rows()).toMatchObject([{ name: 'Later', scopes: ['c'] }]);
  });

  it('whose row was erased is a new one within a minute', async () => {
    const people = edge();
    const id = await people.idOf(seen('alice'));
    await db.deleteFrom('people').execute();
    now += 60_000;
    expect(people.idOf(seen('alice'))).toBe(id);
    const again = await eventually(async () => {
      const next = await people.idOf(seen('alice'));
      return next !== id && next;
    });
    expect(again).toMatch(/^per_/);
  });

  it('may have any character in name and address', async () => {
    await edge().idOf(seen('odd', { name: "Robert'); drop table people;--\0", email: '💥\u0007' }));
    expect(await rows()).toMatchObject([{ name: "Robert'); drop table people;--", email: '💥\u0007' }]);
  });
});

describe('a person who is named before the first login', () => {
  const named = { issuer: 'https://issuer.example', sub: 'carol' };

  it('has an id, and shows no rights until a token was seen', async () => {
    const people = edge();
    const id = await people.register(named);
    expect(await people.register(named)).toBe(id);
    expect(await people.rightsOf(id)).toEqual({ scopes: [], last_seen_at: null });
    expect(await people.idOf(seen('carol', { issuer: named.issuer }))).toBe(id);
    expect(await people.rightsOf(id)).toEqual({ scopes: ['a', 'b'], last_seen_at: expect.any(Date) });
  });

  it('keeps what a token said of them when they are named again', async () => {
    const people = edge();
    const id = await people.idOf(seen('carol', { issuer: named.issuer }));
    expect(await people.register(named)).toBe(id);
    expect(await rows()).toMatchObject([{ name: 'Alice', scopes: ['a', 'b'] }]);
  });

  it('gets one id, whoever names them at once', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, async () => edge().register(named)));
    expect(new Set(ids).size).toBe(1);
  });

  it('of an unknown id is nobody', async () => {
    expect(await edge().rightsOf('per_nobody')).toBeUndefined();
    expect(await edge().behind('per_nobody')).toBeNull();
  });
});

describe('while PostgreSQL is away', () => {
  it('who stands behind a session is known from before, and for others it is told to try again', async () => {
    await using other = await postgresFixture([mcpEdgeService]);
    const away = dbOf(other);
    const people = edge(away);
    const id = await people.idOf(seen('alice'));
    const alice = await people.behind(id);
    expect(alice).toMatchObject({ sub: 'alice', name: 'Alice' });
    await away.destroy();
    expect(await people.behind(id)).toEqual(alice);
    await expect(people.behind('per_other')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('known people go on from memory, and new ones are told to try again', async () => {
    await using other = await postgresFixture([mcpEdgeService]);
    const away = dbOf(other);
    const people = edge(away);
    const id = await people.idOf(seen('alice'));
    await away.destroy();
    now += 60_000;
    expect(people.idOf(seen('alice'))).toBe(id);
    await expect(people.idOf(seen('bob'))).rejects.toMatchObject({ kind: 'unavailable' });
    await eventually(() => logs.length > 0);
    expect(people.idOf(seen('alice'))).toBe(id);
  });
});
