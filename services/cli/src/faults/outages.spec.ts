import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CALLS_STREAM } from '@cortex/contracts';
import type { Running } from '@cortex/embedded/child';
import { initPostgres, startPostgres } from '@cortex/embedded/postgres';
import { eventually, tempDir } from '@cortex/testing';
import { Client } from 'pg';
import { withAdmin } from '../admin.js';
import { identityOf, isAlive } from '../identity.js';
import { askReady } from '../up/ready.js';
import { Load } from './load.js';
import { RunningCortex } from './running.js';

// A database that `up` did not start: nobody brings it back but this test.
const device = 'laptop';
let dir: string;
let database: Running;
let adminUrl: string;
let cortex: RunningCortex;
beforeAll(async () => {
  dir = join(await tempDir('outage'), 'postgres');
  await initPostgres(dir, 'secret');
  database = await startPostgres({ dir });
  adminUrl = `postgres://postgres:secret@127.0.0.1:${database.port}/cortex`;
  cortex = await RunningCortex.start({ env: { CORTEX_DATABASE_URL: adminUrl } });
  await cortex.device(device);
});
afterAll(async () => {
  await cortex[Symbol.asyncDispose]();
  await database.kill();
});

const ready = () => askReady(cortex.process('services').ops ?? '');

it('while PostgreSQL is away calls that need the log alone go on, what reads it is unavailable, and it all catches up', async () => {
  await using load = new Load(cortex, device, 'outage');
  await load.more(40);
  await database.kill();
  await load.more(100);
  const list = await cortex.cortex(['device', 'list']);
  expect([list.code === 0, list.stderr]).toEqual([
    false,
    expect.stringContaining('a server that it needs cannot be reached'),
  ]);
  expect(await ready()).toMatchObject({ ready: false, problem: expect.stringContaining('database') });
  database = await startPostgres({ dir, port: database.port });
  await load.more(40);
  await load.stop();
  expect(load.calls.filter(({ answer }) => !answer.ok)).toEqual([]);
  expect(await load.lost()).toEqual({ unrecorded: [], unwritten: [] });
  await eventually(async () => (await ready()).ready, 20_000);
  expect(await cortex.cortex(['device', 'list'])).toMatchObject({ code: 0 });
  await cortex.caughtUp();
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  const { rows } = await client.query(
    `select count(*)::int as calls from audit.tool_calls where tool = 'remote_write' and success`,
  );
  await client.end();
  expect(rows).toEqual([{ calls: load.answered.length }]);
});

it('while the log is full a call is refused before it runs, and goes on when there is room', async () => {
  const limit = (max_msgs: (now: number) => number): Promise<unknown> =>
    withAdmin(cortex.home, async ({ bus }) => {
      const { streams } = await jetstreamManager(bus.nc);
      const { config, state } = await streams.info(CALLS_STREAM);
      return streams.update(CALLS_STREAM, {
        ...config,
        discard: 'new' as typeof config.discard,
        max_msgs: max_msgs(state.messages),
      });
    });
  await limit((now) => now + 10);
  await using load = new Load(cortex, device, 'full');
  await eventually(async () => !(await ready()).ready);
  expect(await ready()).toMatchObject({ problem: expect.stringContaining('JetStream takes no call records') });
  const refused = { device, file_path: join(cortex.dir, 'refused'), content: 'refused' };
  expect(await cortex.call('remote_write', refused)).toMatchObject({
    kind: 'unavailable',
    text: 'call records cannot be stored now, so nothing was run; try again in a moment',
  });
  expect(existsSync(refused.file_path)).toBe(false);
  await limit(() => -1);
  await load.more(40);
  await load.stop();
  expect((await ready()).ready).toBe(true);
  expect(await load.lost()).toEqual({ unrecorded: [], unwritten: [] });
});

it('P65 a client that goes away ends its command on the machine, and the record says cancelled', async () => {
  const file = join(cortex.dir, 'pid');
  const args = { device, command: `echo $$ > ${file}; sleep 60` };
  const gone = new AbortController();
  const answer = cortex.call('remote_bash', args, { signal: gone.signal });
  const pid = await eventually(() => Number(readFileSync(file, 'utf8').trim() || Number.NaN) || false, 10_000);
  const shell = identityOf(pid);
  gone.abort();
  expect(await answer).toMatchObject({ status: 0 });
  await eventually(() => !isAlive(shell));
  const ends = await eventually(async () => {
    const found = cortex.endsOf(await cortex.records(), args);
    return found.length > 0 && found;
  });
  expect(ends).toMatchObject([{ outcome: 'cancelled' }]);
});
