import { expect, it } from '@jest/globals';
import { runSource } from './child-process.js';

it('a bus that cannot be provisioned leaves no server, no connection and no folder behind', async () => {
  await using program = runSource(new URL('sample/unprovisioned.ts', import.meta.url));
  expect(await program.exit).toBe(0);
  expect(program.out).toMatch(/ticket.*audit|audit.*ticket/);
});
