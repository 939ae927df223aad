import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { natsServerBinary } from './nats-binary.js';
import { startNats } from './nats.js';
import { isPortFree } from './ports.js';
import { initPostgres, isPostgresDir, startPostgres } from './postgres.js';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-embedded-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });

describe('nats-server', () => {
  it('is found or fetched without being installed', async () => {
    const binary = await natsServerBinary();
    expect(binary).toMatch(/nats-server$/);
  });

  it('takes a free port, and the same store again after kill -9', async () => {
    const store = join(dir, 'nats with space');
    const first = await startNats({ dir: store });
    expect(await accepts(first.port)).toBe(true);
    await first.kill();
    const second = await startNats({ dir: store, port: first.port });
    expect(second.port).toBe(first.port);
    await second.stop();
    expect(await isPortFree(first.port)).toBe(true);
  });

  it('says why it did not start', async () => {
    const configFile = join(dir, 'bad.conf');
    await writeFile(configFile, 'max_payload: "many"\n');
    await expect(startNats({ dir: join(dir, 'bad'), configFile })).rejects.toThrow(
      /^nats-server ended .* while starting; it said: .*bad\.conf:1/,
    );
  });
});

describe('PostgreSQL', () => {
  it('starts also for root, below a folder that only its owner may enter, and comes back after kill -9', async () => {
    const data = join(dir, 'postgres with space');
    await initPostgres(data, 'geheim');
    expect(isPostgresDir(data)).toBe(true);
    const first = await startPostgres({ dir: data });
    expect(readFileSync(`/proc/${first.pid}/cmdline`, 'utf8')).not.toContain('geheim');
    await first.kill();
    const second = await startPostgres({ dir: data, port: first.port });
    await second.stop();
    expect(await isPortFree(first.port)).toBe(true);
  });

  it('names the reason when its port is taken', async () => {
    const data = join(dir, 'pg2');
    await initPostgres(data, 'geheim');
    const logFile = join(dir, 'pg2.log');
    const first = await startPostgres({ dir: data });
    const other = join(dir, 'pg3');
    await initPostgres(other, 'geheim');
    try {
      await expect(startPostgres({ dir: other, port: first.port, logFile })).rejects.toThrow(/Address already in use/);
    } finally {
      await first.stop();
    }
    expect((await readdir(dir)).filter((name) => name.endsWith('.pw'))).toEqual([]);
  });
});
