import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';

/** One folder per run: in it lies what its workers share. */
export default function setUp() {
  env.CORTEX_TEST_RUN = mkdtempSync(join(tmpdir(), 'cortex-test-run-'));
}
