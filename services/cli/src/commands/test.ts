import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError, EXIT } from '../exit.js';
import { tell } from '../output.js';

/** Names of tests that attack begin with the id of a threat. */
const ATTACKS = 'T[0-9]+ ';

type Step = [what: string, args: string[]];

/** The whole check of a checkout; the first step that fails gives the exit code. What is passed on to jest narrows it to these tests. */
export async function test(jest: readonly string[], flags: { attack?: boolean }): Promise<void> {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  if (!existsSync(join(root, 'jest.config.mjs'))) {
    throw new CliError(`${root} is no checkout; clone the repository to run its tests`, EXIT.missing);
  }
  const tests: Step = ['tests', ['test', '--', ...(flags.attack ? ['-t', ATTACKS] : []), ...jest]];
  const check: Step = ['format, lint, types', ['run', 'check']];
  const conformance: Step = ['conformance', ['run', 'conformance']];
  const whole = [check, ...(jest.length === 0 ? [conformance] : []), tests];
  for (const [what, args] of flags.attack ? [tests] : whole) {
    tell(what);
    const code = await npm(root, args);
    if (code === 0) continue;
    process.exitCode = code;
    return;
  }
}

const npm = (cwd: string, args: readonly string[]): Promise<number> =>
  new Promise((resolve, reject) => {
    const path = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    const child = spawn('npm', args, {
      cwd,
      stdio: 'inherit',
      env: { ...process.env, PATH: path, NX_DAEMON: 'false' },
    });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? EXIT.failed));
  });
