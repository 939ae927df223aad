import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder inside that of the test run, which is removed with the run also when a test could not tidy up. */
export const tempDir = (prefix: string): Promise<string> =>
  mkdtemp(join(process.env['CORTEX_TEST_RUN'] ?? tmpdir(), `cortex-test-${prefix}-`));
