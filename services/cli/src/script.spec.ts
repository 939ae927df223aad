import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const SCRIPT = fileURLToPath(new URL('../../../cortex', import.meta.url));

/** A checkout with nothing but the script and stand-ins for what it starts: nx, which notes each build, and the program. */
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cortex script '));
  const put = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  put('package-lock.json', '{}');
  utimesSync(join(root, 'package-lock.json'), 1, 1);
  put('node_modules/.package-lock.json', '{}');
  put(
    'node_modules/nx/dist/bin/nx.js',
    `require('node:fs').appendFileSync('builds', 'built\\n'); setTimeout(() => {}, 300);`,
  );
  put('services/cli/dist/main.js', `console.log('ran', process.argv.slice(2).join(' '));`);
  put('services/cli/src/main.ts', '');
  copyFileSync(SCRIPT, join(root, 'cortex'));
  chmodSync(join(root, 'cortex'), 0o755);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const cortex = (word: string) =>
  new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    execFile('sh', [join(root, 'cortex'), word], { env, cwd: tmpdir() }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
const builds = () => readFileSync(join(root, 'builds'), 'utf8').trim().split('\n').length;
const left = () => readdirSync(root).filter((name) => name.startsWith('.cortex-lock'));

describe('./cortex', () => {
  it('builds once for commands that start together', async () => {
    const all = await Promise.all(['a', 'b', 'c', 'd'].map((word) => cortex(word)));
    expect(all.map(({ code, stdout }) => [code, stdout])).toEqual(
      ['a', 'b', 'c', 'd'].map((word) => [0, `ran ${word}\n`]),
    );
    expect(all.map(({ stderr }) => stderr).join('')).not.toMatch(/mv:|rm:|stat/);
    expect(builds()).toBe(1);
    expect(left()).toEqual([]);
  });

  it('builds although one that built was killed', async () => {
    const { pid } = spawnSync('true');
    symlinkSync(String(pid), join(root, '.cortex-lock'));
    expect(await cortex('x')).toMatchObject({ code: 0, stdout: 'ran x\n' });
    expect([builds(), left()]).toEqual([1, []]);
  });

  it('leaves no lock when the build fails, and builds again next time', async () => {
    const nx = join(root, 'node_modules/nx/dist/bin/nx.js');
    const good = readFileSync(nx);
    writeFileSync(nx, `console.error('no such type'); process.exit(1);`);
    const failed = await cortex('x');
    expect(failed).toMatchObject({ code: 6, stdout: '' });
    expect(failed.stderr).toContain('no such type');
    writeFileSync(nx, good);
    expect(await cortex('x')).toMatchObject({ code: 0 });
    expect([builds(), left()]).toEqual([1, []]);
  });

  it('builds nothing when nothing was changed', async () => {
    await cortex('x');
    expect(await cortex('y')).toEqual({ code: 0, stdout: 'ran y\n', stderr: '' });
    expect(builds()).toBe(1);
  });
});
