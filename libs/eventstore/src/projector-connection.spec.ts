import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, postgresFixture, type PostgresFixture } from '@cortex/testing';
import pg from 'pg';
import { ProjectorConnection } from './projector-connection.js';

const NAME = 'one projector';

let database: PostgresFixture;
let admin: pg.Client;
beforeAll(async () => {
  database = await postgresFixture([]);
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database[Symbol.asyncDispose]();
});

const open = async (): Promise<number[]> => {
  const { rows } = await admin.query<{ pid: number }>('select pid from pg_stat_activity where application_name = $1', [
    NAME,
  ]);
  return rows.map(({ pid }) => pid);
};

describe('ProjectorConnection', () => {
  it('P83 has one connection after another, however often a lost one tells its end', async () => {
    const connection = new ProjectorConnection({ connectionString: database.adminUrl, application_name: NAME });
    const pid = (): Promise<number> =>
      connection.use(
        async ({ client }) => (await client.query<{ pid: number }>('select pg_backend_pid() pid')).rows[0]!.pid,
      );
    const next = Promise.withResolvers<number>();
    const first = await connection.use(async ({ client }) => {
      // The first word of the end; the other comes while the next connection is being made.
      client.once('error', () => next.resolve(pid()));
      return (await client.query<{ pid: number }>('select pg_backend_pid() pid')).rows[0]!.pid;
    });
    await admin.query('select pg_terminate_backend($1)', [first]);
    const second = await next.promise;
    expect(second).not.toBe(first);
    expect(await pid()).toBe(second);
    await eventually(async () => expect(await open()).toEqual([second]));
    await connection.close();
    await eventually(async () => expect(await open()).toEqual([]));
  });
});
