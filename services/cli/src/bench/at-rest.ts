import { readdirSync, readFileSync } from 'node:fs';
import { proportionalMiB } from './processes.js';

export interface AtRest {
  /** Sum over all processes of `up`; pages that several share are divided among them. */
  total_mib: number;
  processes: { name: string; pid: number; mib: number }[];
}

/** Memory of a process and of all its descendants. */
export function memoryOfTree(root: number): AtRest {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = read(`/proc/${entry}/stat`);
    if (stat !== '') parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const inTree = (pid: number): boolean =>
    pid === root || (parents.has(pid) && pid > 1 && inTree(parents.get(pid) ?? 0));
  const processes = [...parents.keys()].filter(inTree).flatMap((pid) => {
    const name = read(`/proc/${pid}/comm`).trim();
    // It may have ended since we looked.
    return name === '' ? [] : [{ name, pid, mib: proportionalMiB(pid) }];
  });
  return { total_mib: processes.reduce((sum, { mib }) => sum + mib, 0), processes };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
