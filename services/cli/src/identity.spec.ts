import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing/eventually';
import { collected, identityOf, isAlive } from './identity.js';

it('a process that has ended and that its parent has not collected is gone, and its number is waited for', async () => {
  // The shell becomes another program, which collects no child.
  const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 1'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const line = await createInterface(parent.stdout)[Symbol.asyncIterator]().next();
  const pid = Number(line.value);
  const child = identityOf(pid);
  expect(isAlive(child)).toBe(true);
  await eventually(() => !isAlive(child));
  expect(process.kill(pid, 0)).toBe(true);
  await collected(pid, 20_000);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
