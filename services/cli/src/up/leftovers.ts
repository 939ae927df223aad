import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Home } from '../home.js';
import { endProcess, identityOf, isAlive, type Identity } from '../identity.js';
import { readState } from './state.js';

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
  if (left.length === 0) return 0;
  tell(`ending what an earlier run left behind: ${left.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}`);
  const of = (...kinds: string[]) => left.filter(({ kind }) => kinds.includes(kind));
  await Promise.all(of('services').map((process) => endProcess(process, 'SIGTERM', 3_000)));
  await Promise.all([
    ...of('postgres').map((process) => endProcess(process, 'SIGINT', 10_000)),
    ...of('nats').map((process) => endProcess(process, 'SIGTERM', 10_000)),
  ]);
  return left.length;
}

function postmasterOf(home: Home): Identity | null {
  try {
    const pid = Number(readFileSync(join(home.postgres, 'postmaster.pid'), 'latin1').split('\n')[0]);
    // A stale file may hold the number of anybody's process by now.
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    return argv.includes(home.postgres) ? identityOf(pid) : null;
  } catch {
    return null;
  }
}
