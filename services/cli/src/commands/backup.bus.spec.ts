import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CALLS_STREAM } from '@cortex/contracts';
import { eventually, tempDir } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { streamsOn } from '../backup/log-streams.js';
import { runningHome, type RunningHome } from '../testing/running-home.js';

const VARIABLES = ['CORTEX_ENDPOINT', 'CORTEX_NATS_URL', 'CORTEX_DATABASE_URL'];
let home: RunningHome;
let dir: string;
beforeAll(async () => {
  dir = await tempDir('deployment');
  home = await runningHome();
  const { edge } = home;
  const values = [edge.url, edge.nats.url, edge.postgres.adminUrl];
  VARIABLES.forEach((name, i) => (process.env[name] = values[i]));
});
afterAll(async () => {
  for (const name of VARIABLES) delete process.env[name];
  await home[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const people = async () =>
  (await home.edge.postgres.pool().query('select * from mcp_edge.people order by person_id')).rows;

it('a deployment is backed up while it runs, and not restored while anybody is at work', async () => {
  await home.edge.call('whoami');
  await eventually(async () => expect(await people()).toHaveLength(1));
  // The fixture has the edge alone.
  expect(await home.cortex('provision')).toMatchObject({ code: 0 });
  const folder = join(dir, 'b1');
  const said = await home.cortex('backup', folder, '--json');
  expect(said).toMatchObject({ code: 0, told: expect.stringContaining(`stream ${CALLS_STREAM}: 2 messages`) });
  expect(JSON.parse(said.out)).toMatchObject({
    folder,
    tables: expect.arrayContaining([{ table: 'mcp_edge.people', rows: 1 }]),
  });
  for (const args of [
    ['restore', folder, '--replace'],
    ['erase', 'workspace', 'w1', '--yes'],
  ]) {
    expect(await home.cortex(...args)).toMatchObject({
      code: 4,
      told: expect.stringMatching(/services are at work: mcp-edge\.\w+.*; stop them/),
    });
  }
});

it('holds the files of operators, and of the home none that another one makes anew', async () => {
  const policy = join(dirname(home.home.secrets), 'managed-policy.json');
  writeFileSync(policy, '[]');
  writeFileSync(home.home.natsConfig, '');
  const folder = join(dir, 'files');
  expect(await home.cortex('backup', folder)).toMatchObject({ code: 0 });
  expect(readdirSync(join(folder, 'config')).toSorted()).toEqual(['managed-policy.json', 'secrets.json']);
  rmSync(policy);
});

it('is restored when nobody is, on the servers that it has and with the passwords that it has', async () => {
  const before = await people();
  await home.edge.app.stop();
  const bus = await home.edge.nats.busAs('provision');
  const refused = await eventually(async () => {
    const said = await home.cortex('restore', join(dir, 'b1'));
    expect(said.code).toBe(2);
    return said;
  }, 30_000);
  expect(refused.told).toMatch(/there is data already: 2 messages in the log, 1 rows/);
  await home.edge.postgres.pool().query('truncate mcp_edge.people');
  expect(await home.cortex('restore', join(dir, 'b1'), '--replace')).toMatchObject({ code: 0 });
  expect(await people()).toEqual(before);
  expect(await streamsOn(bus.nc)).toMatchObject({ logged: 2 });
});
