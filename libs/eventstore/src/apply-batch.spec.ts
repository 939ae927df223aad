import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { headers } from '@cortex/bus';
import { COMMIT_HEADER } from '@cortex/contracts';
import { postgresFixture, type PostgresFixture } from '@cortex/testing';
import { sql } from 'kysely';
import pg from 'pg';
import { applyBatch } from './apply-batch.js';
import type { LogMessage } from './commit.js';
import { defineProjection, defineProof, type Projection } from './projection.js';
import { migrateSchema } from './provision-database.js';

type Event = { type: 'Said'; data: { word: string } };
interface Db {
  words: { n: number; word: string };
}

let database: PostgresFixture;
let client: pg.Client;

const message = (seq: number, ...words: string[]): LogMessage => {
  const h = headers();
  h.set(COMMIT_HEADER, `c${seq}`);
  const events = words.map((word) => ({ type: 'Said', version: 1, data: { word } }));
  const actor = { kind: 'system', id: 'x' };
  const body = { commit_id: `c${seq}`, at: 'x', actor, workspace: 'w', correlation_id: 'x', causation_id: 'x', events };
  return { subject: 'cortex.evt.ticket.w.talk.a', seq, headers: h, data: Buffer.from(JSON.stringify(body)) };
};
const talk = (on: Projection<Event, Db>['on']): Projection => {
  return defineProjection<Event, Db>({
    name: 'words_v1',
    subject: 'cortex.evt.ticket.*.talk.*',
    tables: ['words'],
    on,
  });
};
const words = async () =>
  (await client.query<{ word: string }>('select word from words order by n')).rows.map(({ word }) => word);
const batch = Array.from({ length: 50 }, (_, i) => message(i + 1, `${i}a`, `${i}b`));
const expected = batch.flatMap((_, i) => [`${i}a`, `${i}b`]);

beforeEach(async () => {
  database = await postgresFixture();
  await migrateSchema(
    database.adminUrl,
    'public',
    {
      '0001': {
        up: async (db) => void (await sql`create table words (n serial primary key, word text unique)`.execute(db)),
      },
    },
    'postgres',
  );
  client = new pg.Client({ connectionString: database.adminUrl, pipeline: true });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database[Symbol.asyncDispose]();
});

describe('a batch', () => {
  it('is applied in the order of its events, and a part that comes again is left out', async () => {
    const calls: string[] = [];
    const projection = talk({
      Said: ({ data }, tx) => {
        calls.push(data.word);
        return tx
          .insertInto('words')
          .values({ word: data.word } as never)
          .execute();
      },
    });
    expect(await applyBatch(client, projection, batch.slice(0, 30))).toMatchObject({ seq: 30, messages: 30 });
    expect(await applyBatch(client, projection, batch)).toMatchObject({ seq: 50, messages: 20 });
    expect(await applyBatch(client, projection, batch)).toMatchObject({ seq: 50, messages: 0 });
    expect(await words()).toEqual(expected);
    expect(calls).toEqual(expected); // nothing was done twice on the way
  });

  it.each([
    [
      'waits for one statement before the next',
      talk({
        Said: async ({ data }, tx) => {
          const last = await tx.selectFrom('words').select('word').orderBy('n', 'desc').limit(1).executeTakeFirst();
          await tx
            .insertInto('words')
            .values({ word: data.word, n: undefined as never })
            .execute();
          await tx
            .updateTable('words')
            .set({ word: data.word })
            .where('word', '=', last?.word ?? '')
            .where('n', '<', 0)
            .execute();
        },
      }),
    ],
    [
      'waits for something else before its only statement',
      talk({
        Said: async ({ data }, tx) => {
          if (data.word.endsWith('a')) await new Promise((resolve) => setTimeout(resolve, 1));
          await tx
            .insertInto('words')
            .values({ word: data.word } as never)
            .execute();
        },
      }),
    ],
  ])('of a handler that %s keeps the order of events too', async (_what, projection) => {
    expect(await applyBatch(client, projection, batch)).toMatchObject({ seq: 50, messages: 50 });
    expect(await words()).toEqual(expected);
  });

  it('of which one event fails writes nothing and moves no checkpoint', async () => {
    const projection = talk({
      Said: ({ data }, tx) =>
        tx
          .insertInto('words')
          .values({ word: data.word === '7b' ? '7a' : data.word } as never)
          .execute(),
    });
    await expect(applyBatch(client, projection, batch)).rejects.toThrow(/duplicate key/);
    expect(await words()).toEqual([]);
    const { rows } = await client.query('select * from projection_checkpoint');
    expect(rows).toEqual([]);
    const throwing = talk({
      Said: () => {
        throw new Error('broken');
      },
    });
    await expect(applyBatch(client, throwing, batch)).rejects.toThrow('broken');
  });

  it('on a connection that does not pipeline gives the same', async () => {
    const plain = await database.pool().connect();
    const projection = talk({
      Said: ({ data }, tx) =>
        tx
          .insertInto('words')
          .values({ word: data.word } as never)
          .execute(),
    });
    expect(await applyBatch(plain, projection, batch)).toMatchObject({ seq: 50 });
    plain.release();
    expect(await words()).toEqual(expected);
  });
});

describe('a proof', () => {
  const proof = defineProof<Db>({
    name: 'bytes_v1',
    subject: 'cortex.call.>',
    tables: ['words'],
    async proof(messages, tx) {
      const { last } = await tx
        .selectFrom('words')
        .select((eb) => eb.fn.countAll<string>().as('last'))
        .executeTakeFirstOrThrow();
      const rows = messages.map(({ seq, data }, i) => ({ word: `${Number(last) + i}:${seq}:${data.length}` }));
      await tx
        .insertInto('words')
        .values(rows as never)
        .execute();
    },
  });
  const raw = (seq: number, text: string, copied = false): LogMessage => ({
    subject: 'cortex.call.ticket.x',
    seq,
    data: Buffer.from(text),
    copied,
  });

  it('gets every message once and in order, one that is no record and one that was put there too', async () => {
    const all = [raw(1, '{}'), raw(2, 'no json'), raw(5, 'copied', true)];
    expect(await applyBatch(client, proof, all.slice(0, 2))).toMatchObject({ seq: 2, messages: 2, skipped: [] });
    // Given out again while the batch was being filled.
    expect(await applyBatch(client, proof, [...all, raw(5, 'copied', true)])).toMatchObject({ seq: 5, messages: 1 });
    expect(await applyBatch(client, proof, all)).toMatchObject({ seq: 5, messages: 0 });
    expect(await words()).toEqual(['0:1:2', '1:2:7', '2:5:6']);
  });

  it('writes nothing when it breaks, and moves on by nothing', async () => {
    const broken = { ...proof, proof: () => Promise.reject(new Error('broken')) };
    await expect(applyBatch(client, broken, [raw(1, 'a')])).rejects.toThrow('broken');
    expect(await applyBatch(client, proof, [raw(1, 'a')])).toMatchObject({ seq: 1, messages: 1 });
  });
});
