import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { tempDir } from '@cortex/testing/temp-dir';
import { homeOf } from '../home.js';
import { writeCortexCommand, writeProgram } from './programs.js';

it('runs in a home with any name, and means that home where none is named', async () => {
  const home = homeOf(join(await tempDir('programs'), `a b'c"$d`));
  mkdirSync(home.bin, { recursive: true });
  const script = readFileSync(writeCortexCommand(home), 'utf8');
  // The same lines, with something that runs at once in place of the launcher.
  const path = writeProgram(home, 'probe', script.replace(/exec .*/, 'printf %s "$CORTEX_HOME"'));
  expect(statSync(path).mode & 0o777).toBe(0o700);
  const probe = (env: NodeJS.ProcessEnv) => execFileSync(path, { env }).toString();
  expect(probe({})).toBe(home.dir);
  expect(probe({ CORTEX_HOME: '/elsewhere' })).toBe('/elsewhere');
});
