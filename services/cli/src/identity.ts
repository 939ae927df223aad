import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process named so that a later one with the same number is not taken for it. */
export interface Identity {
  pid: number;
  /** When it began, in the words of the system; null where that cannot be told. */
  started: string | null;
}

export function identityOf(pid: number): Identity {
  return { pid, started: startOf(pid) };
}

export function isAlive({ pid, started }: Identity): boolean {
  const now = startOf(pid);
  return now !== null && now === started;
}

function startOf(pid: number): string | null {
  if (pid <= 0) return null;
  try {
    if (process.platform !== 'linux') {
      return (
        execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { stdio: 'pipe' })
          .toString()
          .trim() || null
      );
    }
    const fields = statOf(pid);
    // A zombie is gone for everybody but its parent.
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/**
 * Resolves when no process has this number any more, or after `limitMs`, where it is one that has ended and that its parent has not
 * collected yet: `isAlive` says no to it, but whoever asks the system by number alone takes it for running.
 */
export async function collected(pid: number, limitMs: number): Promise<void> {
  const until = Date.now() + limitMs;
  while (isUncollected(pid) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
}

function isUncollected(pid: number): boolean {
  try {
    return statOf(pid)[0] === 'Z';
  } catch {
    return false;
  }
}

/** Fields of `/proc/<pid>/stat` from the third (state) on: the second may hold blanks and brackets. */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Bytes of memory that a process holds; null where that cannot be told. */
export function residentBytes(pid: number): number | null {
  try {
    if (process.platform === 'linux') {
      const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
      return kb === undefined ? null : Number(kb) * 1024;
    }
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { stdio: 'pipe' }).toString()) * 1024;
  } catch {
    return null;
  }
}

/** Ends a process that is not our child: first gently, then not. Resolves when it is gone. */
export async function endProcess(who: Identity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const [step, limit] of [
    [signal, graceMs],
    ['SIGKILL', 5_000],
  ] as const) {
    if (!isAlive(who)) return;
    try {
      process.kill(who.pid, step);
    } catch {
      return; // gone in between
    }
    const until = Date.now() + limit;
    while (isAlive(who) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
