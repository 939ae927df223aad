import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';

/** Ends the shared PostgreSQL, if anybody started it, and removes the folder of the run. */
export default function tearDown() {
  const run = env.CORTEX_TEST_RUN;
  if (!run) return;
  try {
    process.kill(JSON.parse(readFileSync(join(run, 'postgres.json'), 'utf8')).pid, 'SIGKILL');
  } catch {
    // nobody started it, or it has ended with the worker that did
  }
  rmSync(run, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}
