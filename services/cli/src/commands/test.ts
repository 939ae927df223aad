import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError, EXIT } from '../exit.js';
import { tell } from '../output.js';

/** Names of tests that attack begin with the id of a threat. */
const ATTACKS = 'T[0-9]+ ';

/** The whole check of a checkout; the first step that fails gives the exit code. */
export async function test(jest: readonly string[], flags: { attack?: boolean }): Promise<void> {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  if (!existsSync(join(root, 'jest.config.mjs'))) {
    throw new CliError(`${root} is no checkout; clone the repository to run its tests`, EXIT.missing);
  }
  const steps: [what: string, args: string[]][] = [
    ['format, lint, types', ['run', 'check']],
    ['tests', ['test', '--', ...(flags.attack ? ['-t', ATTACKS] : []), ...jest]],
  ];
  for (const [what, args] of flags.attack ? steps.slice(1) : steps) {
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
