import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const docker = (...args) => spawnSync('docker', args, { encoding: 'utf8' });

/** One folder per run: in it lies what its workers share. */
export default async function setUp() {
  env.CORTEX_TEST_RUN = mkdtempSync(join(tmpdir(), 'cortex-test-run-'));
  if (env.TEST_INFRA !== 'containers') return;
  const engine = docker('version', '--format', '{{.Server.Version}}');
  if (engine.status !== 0) {
    process.stdout.write('TEST_INFRA=containers: no Docker engine answers here, so these suites are skipped\n');
    process.exit(0);
  }
  env.TEST_POSTGRES_URL ||= await postgres();
}

/** One PostgreSQL for the run; the teardown removes every container of it. */
async function postgres() {
  const image = env.TEST_POSTGRES_IMAGE || 'postgres:18-alpine';
  const container = [
    '--label',
    `cortex-test=${env.CORTEX_TEST_RUN}`,
    '-e',
    'POSTGRES_PASSWORD=test',
    '-p',
    '127.0.0.1::5432',
  ];
  const settings = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300'];
  const started = docker('run', '-d', ...container, image, ...settings.flatMap((setting) => ['-c', setting]));
  if (started.status !== 0) throw new Error(`${image} did not start: ${started.stderr}`);
  const id = started.stdout.trim();
  const port = docker('port', id, '5432/tcp').stdout.split('\n')[0].split(':').at(-1);
  // Its first server, which only makes the database, listens on no port.
  for (const end = Date.now() + 60_000; docker('exec', id, 'pg_isready', '-q', '-h', '127.0.0.1').status !== 0;) {
    if (Date.now() > end) throw new Error(`${image} does not answer: ${docker('logs', id).stderr}`);
    await sleep(200);
  }
  return `postgres://postgres:test@127.0.0.1:${port}/postgres`;
}
