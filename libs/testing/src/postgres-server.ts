import { rmSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { initPostgres, startPostgres } from '@cortex/embedded';
import { eventually } from './eventually.js';
import { tempDir } from './temp-dir.js';

/** For the superuser of a server that lives as long as a test run, on loopback. */
const PASSWORD = 'test';
/** Tests start from nothing: speed is worth more than what a crash would lose. */
const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

let url: Promise<string> | undefined;

/**
 * URL, with the superuser's credentials, of the one PostgreSQL of this run: `TEST_POSTGRES_URL`, or one that the first who
 * needs it starts for all. It ends with the process that started it; another then starts it again.
 */
export const postgresServer = (): Promise<string> => (url ??= findOrStart());

async function findOrStart(): Promise<string> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given) return given;
  const run = process.env['CORTEX_TEST_RUN'];
  if (run) return await shared(run);
  // Outside jest's own set-up: one for this process.
  const dir = await tempDir('postgres');
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  return (await start(dir)).url;
}

async function shared(run: string): Promise<string> {
  const state = join(run, 'postgres.json');
  const lock = join(run, 'postgres.lock');
  await mkdir(run, { recursive: true });
  await eventually(() => mkdir(lock).then(() => true, alreadyThere), 30_000);
  try {
    const running = await readFile(state, 'utf8').then(
      (text) => JSON.parse(text) as Running,
      () => null,
    );
    if (running && isAlive(running.pid)) return running.url;
    const dir = await tempDir('postgres');
    const fresh = await start(dir);
    await writeFile(state, JSON.stringify(fresh));
    return fresh.url;
  } finally {
    await rmdir(lock);
  }
}

interface Running {
  pid: number;
  url: string;
}

async function start(dir: string): Promise<Running> {
  const data = join(dir, 'data');
  await initPostgres(data, PASSWORD);
  const { pid, port } = await startPostgres({ dir: data, settings: SETTINGS, background: true });
  return { pid, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres` };
}

const alreadyThere = (error: NodeJS.ErrnoException): false => {
  if (error.code === 'EEXIST') return false;
  throw error;
};

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
