import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface SourceProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Standard output so far. */
  readonly out: string;
  readonly err: string;
  /** Messages that it sent to its parent. */
  readonly messages: readonly unknown[];
  /** Exit code, or the signal that ended it. */
  readonly exit: Promise<number | NodeJS.Signals>;
}

/** Runs a TypeScript file of the sources in a process of its own; killed with the fixture. */
export function runSource(
  file: string | URL,
  env: Record<string, string> = {},
  args: readonly string[] = [],
): SourceProcess {
  const loader = new URL('../ts-loader.mjs', import.meta.url).href;
  const path = typeof file === 'string' ? file : fileURLToPath(file);
  const child = spawn(process.execPath, ['--import', loader, path, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let out = '';
  let err = '';
  const messages: unknown[] = [];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.on('message', (message) => messages.push(message));
  const exit = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('close', (code, signal) => resolve(signal ?? code ?? -1)),
  );
  return {
    child,
    messages,
    exit,
    get out() {
      return out;
    },
    get err() {
      return err;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
