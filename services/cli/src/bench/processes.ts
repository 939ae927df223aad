import { fork, type ChildProcess, type ForkOptions } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from '../node-flags.js';

/** A clock tick of /proc: 1/100 s on every Linux that Node runs on. */
const TICK_S = 0.01;

export interface Started extends AsyncDisposable {
  readonly pid: number;
  /** First message of the process. */
  readonly said: Record<string, unknown>;
  readonly process: ChildProcess;
}

/** Starts one of our programs (a file beside this one) and waits for its first message. */
export async function startProgram(file: string, argv: string[] = [], options: ForkOptions = {}): Promise<Started> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  // The floors run as the services do.
  const child = fork(path, argv, { execArgv: NODE_FLAGS, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], ...options });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4096)));
  const [said] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${file} ended with code ${String(code)} while starting; it said: ${errors.trim()}`);
    }),
  ])) as [Record<string, unknown>];
  return { pid: child.pid ?? 0, said, process: child, [Symbol.asyncDispose]: () => end(child) };
}

/** A program that calls; it waits for its order. */
export const startLoad = (file = 'load.js'): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Seconds of CPU of all threads of a process, user and system. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return (Number(fields[11]) + Number(fields[12])) * TICK_S;
}

/** From the state on; user and system time, fields 14 and 15 of the man page, are then 11 and 12. The name in parentheses may hold spaces. */
const statOf = (stat: string): string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ');

/** A process and all that descend from it, as they are now. */
export function treeOf(root: number): number[] {
  const all = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const parents = new Map(all.map((pid) => [Number(pid), Number(statOf(readProc(pid, 'stat'))[1] ?? 0)]));
  const belongs = (pid: number): boolean => pid === root || (pid > 1 && belongs(parents.get(pid) ?? 0));
  return [...parents.keys()].filter(belongs);
}

/** Seconds of CPU of a process and of all that descend from it, those that have ended among them. */
export function treeCpuSeconds(root: number): number {
  const ticks = treeOf(root).flatMap((pid) => statOf(readProc(pid, 'stat')).slice(11, 15).map(Number));
  return ticks.reduce((sum, count) => sum + count, 0) * TICK_S;
}

/** A file of a process; empty when it has ended since we looked. */
export function readProc(pid: number | string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** Sockets that a process holds open, those that listen among them. */
export function openSockets(pid: number): number {
  const isSocket = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      // closed since we looked
      return false;
    }
  };
  return readdirSync(`/proc/${pid}/fd`).filter(isSocket).length;
}

/** Seconds that all cores of the machine were busy since it started. */
export function machineBusySeconds(): number {
  const ms = cpus().map(({ times }) => times.user + times.nice + times.sys + times.irq);
  return ms.reduce((sum, core) => sum + core, 0) / 1000;
}

const memoryField = (pid: number, file: string, field: string): number => {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readProc(pid, file));
  return Number(line?.[1] ?? 0) / 1024;
};
/** Resident MiB. */
export const residentMiB = (pid: number): number => memoryField(pid, 'status', 'VmRSS');
/** MiB with each shared page divided among those who share it, so that sums over processes are true. */
export const proportionalMiB = (pid: number): number => memoryField(pid, 'smaps_rollup', 'Pss');
/** The same of a process and all that descend from it. */
export const treeMiB = (root: number): number => treeOf(root).reduce((sum, pid) => sum + proportionalMiB(pid), 0);
