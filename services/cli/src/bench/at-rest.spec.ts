import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@cortex/testing/eventually';
import { expect, it } from '@jest/globals';
import { memoryOfTree } from './at-rest.js';

it('weighs a process with all that descend from it, and nobody else', async () => {
  const parent = spawn('sh', ['-c', 'sleep 60 & sleep 60 & wait']);
  try {
    const names = await eventually(() => {
      const { processes, total_mib } = memoryOfTree(parent.pid ?? 0);
      expect(total_mib).toBeGreaterThan(0);
      return processes.length === 3 && processes.map(({ name }) => name);
    });
    expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual(['sh', 'sleep', 'sleep']);
  } finally {
    // Its children too: none of them reads its signals from us.
    for (const { pid } of memoryOfTree(parent.pid ?? 0).processes.toReversed()) process.kill(pid, 'SIGKILL');
    await once(parent, 'exit').catch(() => undefined);
  }
});
