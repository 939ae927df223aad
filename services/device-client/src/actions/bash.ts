import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { constants, homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { invalidArgument } from '@cortex/contracts';
import type { ActionContext } from '../commands.js';
import { commandEnvironment } from '../config.js';
import { CappedText } from '../output.js';
import { booleanParam, stringParam } from '../params.js';
import { killTree, MARK } from '../process.js';

const STDOUT_CHARS = 200_000;
const STDERR_CHARS = 50_000;
const TIMED_OUT = 124;
const NOT_FOUND = 127;
/** How long the output of a shell that has ended is still read when one of its children keeps the pipe open. */
const LINGER_MS = 250;

interface Outcome extends Record<string, unknown> {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  pid?: number;
  timedOut?: boolean;
}

/** Runs a command line in a login shell, in a process group of its own. */
export function runBash(params: Record<string, unknown>, { signal }: ActionContext): Promise<Outcome> {
  const command = stringParam(params, 'command');
  if (command.includes('\0')) throw invalidArgument('command', 'holds a NUL character', 'remove it');
  const timeout = params['timeout'];
  const limitMs = typeof timeout === 'number' ? Math.min(Math.max(timeout, 1), 600_000) : 120_000;
  return booleanParam(params, 'run_in_background') ? inBackground(command) : inForeground(command, limitMs, signal);
}

const shellOf = (): string => {
  if (process.platform !== 'win32') return '/bin/bash';
  const places = ['C:\\Program Files\\Git\\bin\\bash.exe', 'C:\\Program Files (x86)\\Git\\bin\\bash.exe'];
  return places.find((place) => existsSync(place)) ?? 'bash.exe';
};
/** As a login by ssh does; a home that is gone must not look like a missing shell. */
const startFolder = (): string => (existsSync(homedir()) ? homedir() : '/');
/** Linux takes 128 KiB in one argument. */
const ARGUMENT_BYTES = 120 * 1024;

/** `--`, since bash would take a command that begins with a dash for an option. A very long one goes by a file. */
function argumentsOf(command: string): string[] {
  if (Buffer.byteLength(command) <= ARGUMENT_BYTES) return ['-l', '-c', '--', command];
  const file = join(tmpdir(), `cortex-command-${randomBytes(8).toString('hex')}`);
  writeFileSync(file, command, { mode: 0o600, flag: 'wx' });
  return ['-l', '-c', '--', 'eval "$(cat -- "$0"; rm -f -- "$0")"', file];
}

const NO_BASH = 'bash was not found on this device\n';

function inForeground(command: string, limitMs: number, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const mark = randomBytes(8).toString('hex');
    const child = spawn(shellOf(), argumentsOf(command), {
      cwd: startFolder(),
      detached: process.platform !== 'win32',
      env: commandEnvironment({ [MARK]: mark }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stdout = new CappedText(STDOUT_CHARS);
    const stderr = new CappedText(STDERR_CHARS);
    let timedOut = false;
    let done = false;
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));

    const end = (): void => killTree(child, mark);
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, limitMs);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();

    const finish = (exitCode: number, note = ''): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      child.stdout.destroy();
      child.stderr.destroy();
      const text = stderr.finish();
      const errors = note === '' || text === '' || text.endsWith('\n') ? text + note : `${text}\n${note}`;
      resolve({ stdout: stdout.finish(), stderr: errors, exitCode, timedOut });
    };
    const finishAs = (code: number | null, killedBy: NodeJS.Signals | null): void => {
      if (timedOut) finish(TIMED_OUT, `[killed: the command ran longer than its limit of ${limitMs / 1000} s]\n`);
      else finish(code ?? 128 + (killedBy === null ? 0 : (constants.signals[killedBy] ?? 0)));
    };
    child.on('error', (error) => {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      finish(missing ? NOT_FOUND : 126, missing ? NO_BASH : `bash could not be started: ${error.message}\n`);
    });
    child.on('exit', (code, killedBy) => void setTimeout(() => finishAs(code, killedBy), LINGER_MS));
    child.on('close', finishAs);
  });
}

function inBackground(command: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(shellOf(), argumentsOf(command), {
      cwd: startFolder(),
      detached: true,
      env: commandEnvironment(),
      stdio: 'ignore',
      windowsHide: true,
    });
    child.on('error', () => resolve({ stdout: '', stderr: NO_BASH, exitCode: NOT_FOUND }));
    child.on('spawn', () => {
      child.unref();
      resolve({ stdout: '', stderr: '', exitCode: null, pid: child.pid! });
    });
  });
}
