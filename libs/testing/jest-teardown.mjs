import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';

/** Ends the shared PostgreSQL, if anybody started it, every container of the run, and removes its folder. */
export default function tearDown() {
  const run = env.CORTEX_TEST_RUN;
  if (!run) return;
  try {
    process.kill(JSON.parse(readFileSync(join(run, 'postgres.json'), 'utf8')).pid, 'SIGKILL');
  } catch {
    // nobody started it, or it has ended with the worker that did
  }
  if (env.TEST_INFRA === 'containers') {
    const { stdout } = spawnSync('docker', ['ps', '-aq', '--filter', `label=cortex-test=${run}`], { encoding: 'utf8' });
    const left = stdout.split('\n').filter(Boolean);
    if (left.length > 0) spawnSync('docker', ['rm', '-f', '-v', ...left]);
  }
  rmSync(run, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}
