import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  counterIncrement,
  counterGet,
  counterService,
  eventually,
  natsFixture,
  ownPostgres,
  startService,
  tempDir,
} from '@cortex/testing';
import { isCortexError } from '@cortex/contracts';
import { createPool } from '@cortex/eventstore';
import { adminConfig } from '@cortex/eventstore/pool';
import { expect, it } from '@jest/globals';
import pg from 'pg';
import type { Secrets } from './secrets.js';

const services = [counterService];

/** The roles' passwords in the database, and an end to the one connection that writes views: the next shows the new password. */
async function alterRoles(adminUrl: string, password: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    for (const role of ['ticket', 'ticket_projector']) await client.query(`alter role ${role} password '${password}'`);
    await client.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ticket_projector'");
  } finally {
    await client.end();
  }
}

async function changeFile(home: string, password: string): Promise<void> {
  const file = join(home, 'config', 'secrets.json');
  const secrets = JSON.parse(await readFile(file, 'utf8')) as Secrets;
  secrets.bus['ticket'] = password;
  Object.assign(secrets.database, { ticket: password, ticket_projector: password });
  await writeFile(`${file}.new`, JSON.stringify(secrets));
  await rename(`${file}.new`, file);
}

/** As a client does: the answer of a call that was under way when its service was cut off may be lost, and the same key asks again. */
async function untilAnswered(call: () => Promise<unknown>): Promise<void> {
  await eventually(async () => {
    try {
      await call();
      return true;
    } catch (error) {
      if (isCortexError(error) && ['unavailable', 'deadline_exceeded'].includes(error.kind)) return false;
      throw error;
    }
  });
}

it.each(['the servers', 'the file'])(
  'passwords of bus and database change under a service that goes on, %s first: no call is lost or done twice',
  async (first) => {
    const home = await tempDir('rotation');
    await using nats = await natsFixture({ services });
    await using postgres = await ownPostgres(services);
    await using app = await startService(counterService, { nats, postgres, env: { CORTEX_HOME: home } });
    let ended = false;
    let calls = 0;
    const caller = (async () => {
      while (!ended) {
        calls++;
        await untilAnswered(() =>
          app.call(counterIncrement, { counter_id: 'one' }, { key: `k${calls}`, deadlineMs: 2_000 }),
        );
        await untilAnswered(() => app.call(counterGet, { counter_id: 'one' }, { deadlineMs: 2_000 }));
      }
    })();
    await eventually(() => calls > 3);
    const servers = async () => {
      await alterRoles(postgres.adminUrl, 'fresh');
      await nats.changePassword('ticket', 'fresh');
      await eventually(() => app.log.some((line) => line.includes('the bus went away')));
    };
    const file = () => changeFile(home, 'fresh');
    for (const step of first === 'the file' ? [file, servers] : [servers, file]) await step();
    const before = calls;
    await eventually(() => calls > before + 3);
    ended = true;
    await caller;
    const { total } = await app.call(counterGet, { counter_id: 'one' });
    expect(total).toBe(calls);
    expect(app.host.bus.up).toBe(true);
  },
);

it('a reader that needs a connection between the two changes waits for the second', async () => {
  await using postgres = await ownPostgres(services);
  let asked = 0;
  const password = () => (++asked < 4 ? 'of before' : postgres.passwordOf('ticket'));
  const pool = createPool({ ...adminConfig(postgres.url), user: 'ticket', password });
  expect((await pool.query<{ one: number }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  const taken = await pool.connect();
  expect((await taken.query<{ one: number }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  taken.release();
  await pool.end();
  expect(asked).toBe(4);
  const fixed = createPool({ ...adminConfig(postgres.url), user: 'ticket', password: 'of before' });
  await expect(fixed.query('select 1')).rejects.toMatchObject({ code: '28P01' });
  await fixed.end();
});
