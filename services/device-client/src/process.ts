import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { commandEnvironment } from './config.js';

/** In the environment of a command: finds what left its process group too. */
export const MARK = 'CORTEX_COMMAND';

/**
 * Kills a child, its process group and everything that descends from it, also what moved into a session of its own
 * (Linux: found by the mark in its environment).
 */
export function killTree(child: ChildProcess, mark?: string): void {
  const { pid } = child;
  if (pid === undefined) return;
  if (process.platform === 'win32') {
    spawnSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' });
    return;
  }
  kill(-pid);
  if (process.platform !== 'linux' || mark === undefined) return;
  // What forked between the look and the kill carries the mark too, so look again until nothing is left.
  for (let round = 0; round < 10; round++) {
    const left = marked(mark);
    if (left.length === 0) return;
    left.forEach(kill);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone already
  }
}

function marked(mark: string): number[] {
  const wanted = Buffer.from(`${MARK}=${mark}\0`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`).includes(wanted);
      } catch {
        return false; // another user's, or gone
      }
    })
    .map(Number);
}

export interface Finished {
  code: number | null;
  stderr: string;
}

/**
 * Runs a program by argv, without a shell, and hands its output on in pieces. `onOutput` returns false when it has
 * enough: the program is ended then. Aborting kills it. `stderr` is kept up to 8 KB.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  { cwd, signal, onOutput }: { cwd?: string; signal: AbortSignal; onOutput: (chunk: Buffer) => boolean },
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env: commandEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
    const stop = (): void => void child.kill('SIGKILL');
    let stderr = '';
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    child.stdout.on('data', (chunk: Buffer) => {
      if (!onOutput(chunk)) stop();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (stderr.length < 8192) stderr += chunk.toString('utf8');
    });
    child.on('error', reject);
    child.on('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve({ code, stderr });
    });
  });
}
