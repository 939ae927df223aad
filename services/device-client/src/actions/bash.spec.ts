import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { runBash } from './bash.js';

let dir: string;
let abort: AbortController;
const realHome = process.env['HOME'];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-bash-'));
  abort = new AbortController();
  process.env['HOME'] = dir; // a login shell reads its profile there
});
afterEach(async () => {
  process.env['HOME'] = realHome;
  await rm(dir, { recursive: true, force: true });
});

const bash = (command: string, more: Record<string, unknown> = {}) =>
  runBash({ command, timeout: 10_000, ...more }, { home: dir, signal: abort.signal, rg: null });
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A killed child of a killed parent may wait for init to take it.
    return !readStat(pid).startsWith('Z');
  } catch {
    return false;
  }
};
const readStat = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '';
const until = async (check: () => boolean): Promise<void> => {
  for (const end = Date.now() + 5_000; !check();) {
    if (Date.now() > end) throw new Error(`never true: ${check.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const pidIn = async (file: string): Promise<number> => {
  const path = join(dir, file);
  await until(() => existsSync(path) && readFileSync(path, 'utf8') !== '');
  return Number(readFileSync(path, 'utf8'));
};

it('runs in a login shell and gives both outputs and the exit code', async () => {
  expect(await bash('shopt -q login_shell && echo login; echo bad >&2; exit 7')).toMatchObject({
    stdout: 'login\n',
    stderr: 'bad\n',
    exitCode: 7,
  });
});

it('says the signal as shells do when a command was killed', async () =>
  expect(await bash('kill -TERM $$')).toMatchObject({ exitCode: 143, timedOut: false }));

it('kills all that the command started when its time is over, also what left its process group', async () => {
  const command = [
    `sleep 300 & echo $! > ${dir}/child`,
    `setsid bash -c 'echo $$ > ${dir}/session; exec sleep 300' &`,
    `(setsid bash -c 'echo $$ > ${dir}/orphan; exec sleep 300' &)`,
    'echo begun; sleep 300',
  ].join('\n');
  const result = await bash(command, { timeout: 1_000 });
  expect(result).toMatchObject({ exitCode: 124, timedOut: true, stdout: 'begun\n' });
  expect(result.stderr).toBe('[killed: the command ran longer than its limit of 1 s]\n');
  for (const file of ['child', 'session', 'orphan']) {
    const pid = await pidIn(file);
    await until(() => !alive(pid));
  }
});

it('kills all that the command started when it is cancelled', async () => {
  const running = bash(`sleep 300 & echo $! > ${dir}/child; wait`);
  const pid = await pidIn('child');
  abort.abort();
  await expect(running).resolves.toMatchObject({ exitCode: 137, timedOut: false });
  await until(() => !alive(pid));
});

it('kills what a command that forks all the time started', async () => {
  await bash(`f() { setsid sleep 314.15 & sleep 0.02; f; }; f`, { timeout: 700 });
  await until(() => spawnSync('pgrep', ['-fx', 'sleep 314.15']).status === 1);
});

it('does not wait for a child in the background that keeps the output open', async () => {
  const started = Date.now();
  const result = await bash(`sleep 300 & echo $! > ${dir}/child; echo done`);
  expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  expect(Date.now() - started).toBeLessThan(60_000);
  process.kill(await pidIn('child'), 'SIGKILL');
});

it('starts in the background, gives the PID at once and drops the output', async () => {
  const result = await bash(`echo lost; echo $$ > ${dir}/child; exec sleep 300`, { run_in_background: true });
  expect(result).toMatchObject({ stdout: '', stderr: '', exitCode: null });
  expect(await pidIn('child')).toBe(result.pid);
  process.kill(result.pid!, 'SIGKILL');
});

it('keeps head and tail of a long output and says how much was left out', async () => {
  const { stdout, stderr } = await bash('head -c 1000000 /dev/zero | tr "\\0" a; echo END; yes ü | head -c 300000 >&2');
  expect(stdout).toHaveLength(200_000 + '\n[... 800004 characters left out ...]\n'.length);
  expect(stdout).toMatch(/^a{120000}\n\[\.\.\. 800004 characters left out \.\.\.\]\na{79996}END\n$/);
  expect(stderr).toContain('characters left out');
  expect(stderr.length).toBeLessThan(50_100);
});

it('gives no variable of the client to what it runs, above all no secret', async () => {
  process.env['CORTEX_CLIENT_TOKEN'] = 'canary-token';
  process.env['AWS_SECRET_ACCESS_KEY'] = 'canary-aws';
  try {
    const { stdout } = await bash('env; tr "\\0" "\\n" < /proc/self/environ');
    expect(stdout).not.toContain('canary');
    expect(stdout).toContain('PATH=');
  } finally {
    delete process.env['CORTEX_CLIENT_TOKEN'];
    delete process.env['AWS_SECRET_ACCESS_KEY'];
  }
});

it('runs a command of 100,000 characters of any size, and leaves no file behind', async () => {
  const command = `echo '${'ü'.repeat(99_950)}' | wc -m; exit 5`;
  expect(await bash(command)).toMatchObject({ stdout: expect.stringMatching(/^(99951|199901)\n$/), exitCode: 5 });
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('cortex-command-'))).toEqual([]);
});

it('T64 takes a command that begins with a dash as a command', async () => {
  expect(await bash('-c "touch x"')).toMatchObject({ exitCode: 127 });
  await expect(async () => bash('a\0b')).rejects.toMatchObject({ kind: 'invalid_argument' });
});
