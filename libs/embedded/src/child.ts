import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { EmbeddedError } from './error.js';

/** A server that we started. Both ways of ending it resolve when the process is gone. */
export interface Running {
  readonly pid: number;
  readonly port: number;
  /** Resolves when the process ends, whoever ended it. */
  readonly exited: Promise<Exit>;
  /** Orderly; killed after `graceMs`. */
  stop(graceMs?: number): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** Standard output and error are appended to this file; without it only the last 8 KiB are kept, for error texts. */
  logFile?: string;
  /** It does not keep our own event loop alive: for a server that several test files share. */
  background?: boolean;
}

/** The full path of a program on PATH, or null. */
export function which(program: string, path = process.env['PATH'] ?? ''): string | null {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue;
    const file = join(folder, program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // not in this folder
    }
  }
  return null;
}

/** Servers get what they need to run and none of the secrets that may stand in our own environment. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];
  const entries = kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return { ...Object.fromEntries(entries), LC_ALL: 'C.UTF-8' };
}

/**
 * Argv that runs the program and has Linux end it with the process that started it, also when that one is killed:
 * nobody's kill -9 then leaves a server behind. Where `setpriv` is missing the program runs as it is.
 */
export function endsWithParent(signal: 'TERM' | 'INT' | 'QUIT' | 'KILL', argv: readonly string[]): string[] {
  const setpriv = process.platform === 'linux' ? which('setpriv') : null;
  return setpriv === null ? [...argv] : [setpriv, '--pdeathsig', signal, '--', ...argv];
}

/** A started process with the end of what it said. */
export class Child {
  readonly exited: Promise<Exit>;
  #said = '';
  #exit: Exit | undefined;

  private constructor(
    readonly process: ChildProcess,
    readonly program: string,
  ) {
    this.exited = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
      };
      process.once('exit', end);
      process.once('error', (error) => {
        this.#said += error.message;
        end(null, null);
      });
    });
    for (const stream of [process.stdout, process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#said = (this.#said + text).slice(-8192)));
    }
  }

  /** Starts `argv[0]` with its own process group, so that a Ctrl-C in the terminal reaches only the supervisor. */
  static start(
    [file = '', ...argv]: readonly string[],
    options: ChildOptions & { cwd?: string; program: string },
  ): Child {
    const log = options.logFile === undefined ? undefined : openLog(options.logFile);
    try {
      const child = spawn(file, argv, {
        cwd: options.cwd,
        env: bareEnvironment(),
        detached: true,
        stdio: log === undefined ? ['ignore', 'pipe', 'pipe'] : ['ignore', log, log],
      });
      if (options.background) child.unref();
      // What we keep of its output must not keep our own process alive.
      for (const stream of [child.stdout, child.stderr]) (stream as { unref?: () => void } | null)?.unref?.();
      return new Child(child, options.program);
    } finally {
      if (log !== undefined) closeSync(log);
    }
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  get ended(): boolean {
    return this.#exit !== undefined;
  }

  get said(): string {
    return this.#said;
  }

  /** Waits until `isReady` says so; throws when the process ends before, or has not got there in time. */
  async ready(isReady: () => Promise<boolean> | boolean, limitMs: number, why: () => string): Promise<void> {
    const until = Date.now() + limitMs;
    while (!(await isReady())) {
      if (this.#exit) {
        await this.#lastWords();
        throw startFailed(this.program, describeExit(this.#exit), why());
      }
      if (Date.now() > until) {
        await this.end('SIGKILL');
        throw startFailed(this.program, `was not ready within ${limitMs / 1000} s`, why());
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits for a program that does its work and ends. */
  async finished(limitMs: number): Promise<void> {
    const timer = setTimeout(() => this.process.kill('SIGKILL'), limitMs);
    const exit = await this.exited;
    clearTimeout(timer);
    if (exit.code === 0) return;
    await this.#lastWords();
    throw startFailed(this.program, describeExit(exit), this.#said);
  }

  /** Its end may be known before its last words are; a child of its own that still holds the pipe keeps us only so long. */
  async #lastWords(): Promise<void> {
    const streams = [this.process.stdout, this.process.stderr].filter((stream) => stream !== null);
    const ends = streams.filter((stream) => !stream.readableEnded).map((stream) => once(stream, 'end'));
    await Promise.race([Promise.all(ends), new Promise((resolve) => setTimeout(resolve, 200))]);
  }

  async end(signal: NodeJS.Signals, graceMs = 10_000): Promise<void> {
    if (this.ended) return;
    this.process.kill(signal);
    const timer = setTimeout(() => this.process.kill('SIGKILL'), graceMs);
    await this.exited;
    clearTimeout(timer);
  }
}

const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `ended with code ${code ?? 'none'}` : `was ended by ${signal}`;

function startFailed(program: string, problem: string, said: string) {
  const text = said.trim().split('\n').slice(-5).join(' | ').slice(-800);
  return new EmbeddedError(
    'start_failed',
    `${program} ${problem} while starting`,
    text === '' ? 'see its log' : `it said: ${text}`,
  );
}

/** What a process said since its log had `from` bytes. */
export const saidBy = (child: Child, logFile: string | undefined, from: number): string =>
  logFile === undefined || !existsSync(logFile) ? child.said : readFileSync(logFile).subarray(from).toString('utf8');

export const sizeOf = (file: string | undefined): number =>
  file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, 'a', 0o600);
}
