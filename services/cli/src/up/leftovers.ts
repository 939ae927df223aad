import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '../home.js';
import { collected, endProcess, identityOf, isAlive, type Identity } from '../identity.js';
import { readState, type KeptProcess } from './state.js';

const COLLECTED_MS = 10_000;

/**
 * Ends what a supervisor that was killed left behind. Only for whoever holds the lock of the home. A process counts as ours
 * by number and start time; PostgreSQL also by the pid file of its own data, since two on one data would be the end of it.
 */
export async function endLeftovers(home: Home, tell: (text: string) => void): Promise<number> {
  const state = readState(home);
  const left = (state?.processes ?? []).filter(isAlive);
  const postmaster = postmasterOf(home);
  if (postmaster !== null && !left.some(({ pid }) => pid === postmaster.pid)) {
    left.push({ ...postmaster, name: 'postgres', kind: 'postgres', since: '', restarts: 0, log: '' });
  }
  if (left.length > 0) await end(left, tell);
  // It asks by number alone whether the one before it still runs.
  await collected(numberOf(home), COLLECTED_MS);
  return left.length;
}

async function end(left: readonly KeptProcess[], tell: (text: string) => void): Promise<void> {
  tell(`ending what an earlier run left behind: ${left.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}`);
  const of = (...kinds: string[]) => left.filter(({ kind }) => kinds.includes(kind));
  await Promise.all(of('services').map((process) => endProcess(process, 'SIGTERM', 3_000)));
  await Promise.all([
    ...of('postgres').map((process) => endProcess(process, 'SIGINT', 10_000)),
    ...of('nats').map((process) => endProcess(process, 'SIGTERM', 10_000)),
  ]);
}

function postmasterOf(home: Home): Identity | null {
  try {
    const pid = numberOf(home);
    // A stale file may hold the number of anybody's process by now.
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    return argv.includes(home.postgres) ? identityOf(pid) : null;
  } catch {
    return null;
  }
}

/** What the pid file of PostgreSQL holds; 0 without one. */
function numberOf(home: Home): number {
  try {
    return Number(readFileSync(join(home.postgres, 'postmaster.pid'), 'latin1').split('\n')[0]);
  } catch {
    return 0;
  }
}
