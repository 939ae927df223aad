import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Exit, Running } from '@cortex/embedded/child';
import { NODE_FLAGS } from '../node-flags.js';

export interface ServiceProcessOptions {
  /** Services that it holds; as words of its argv, so that `ps` tells them. */
  services: readonly string[];
  env: NodeJS.ProcessEnv;
  logFile: string;
  /** Where its lines of the audit trail go, which it writes to standard output; default the same file. */
  trailFile?: string;
  /** Port of /health, /ready and /metrics. */
  port: number;
  /** Argv before its own, such as of a program that enters a namespace. */
  enter?: readonly string[];
  /** It loads its code at once, and begins when bus and database are ready. */
  begin: Promise<void>;
}

/** Starts a process with services. When we die, the channel to it closes, and it stops by itself. */
export function startServiceProcess(options: ServiceProcessOptions): Running {
  const main = fileURLToPath(new URL('../host-main.js', import.meta.url));
  mkdirSync(dirname(options.logFile), { recursive: true, mode: 0o700 });
  const log = openSync(options.logFile, 'a', 0o600);
  const trail = openSync(options.trailFile ?? options.logFile, 'a', 0o600);
  const [program, ...before] = [...(options.enter ?? []), process.execPath];
  const child = spawn(program, [...before, ...NODE_FLAGS, main, ...options.services], {
    env: options.env,
    // Its own process group: a Ctrl-C in the terminal is ours to pass on.
    detached: true,
    stdio: ['ignore', trail, log, 'ipc'],
  });
  for (const file of [trail, log]) closeSync(file);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  options.begin.then(
    () => child.connected && child.send('begin'),
    () => undefined,
  );
  const end = async (signal: NodeJS.Signals, graceMs: number) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(timer);
  };
  return {
    pid: child.pid ?? 0,
    port: options.port,
    exited,
    stop: (graceMs = 25_000) => end('SIGTERM', graceMs),
    kill: () => end('SIGKILL', 5_000),
  };
}
