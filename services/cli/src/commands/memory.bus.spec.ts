import { memoryService } from '@cortex/memory';
import { teamService } from '@cortex/team';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runningHome, type RunningHome } from '../testing/running-home.js';

let home: RunningHome;
const grant = (...args: string[]) => home.cortex('memory', 'grant', ...args);
beforeAll(async () => {
  home = await runningHome({ beside: [teamService, memoryService] });
  await home.cortex('workspace', 'create', 'acme', '--no-admin');
});
afterAll(async () => home[Symbol.asyncDispose]());

it('says what a role may do with a domain, and may be repeated', async () => {
  const args = ['acme', 'Auth flow', '--role', 'qa', '--permission', 'none'];
  for (let i = 0; i < 2; i++)
    expect(await grant(...args)).toMatchObject({ code: 0, out: 'qa has none on auth-flow in acme\n' });
  expect(JSON.parse((await grant(...args, '--json')).out)).toEqual({
    workspace_id: 'acme',
    domain_name: 'auth-flow',
    role: 'qa',
    permission: 'none',
  });
});

it('refuses what is no workspace, domain, role or permission', async () => {
  const rest = ['--role', 'qa', '--permission', 'read'];
  expect(await grant('none', 'x', ...rest)).toMatchObject({
    code: 1,
    told: 'workspace_id is no workspace; make it with cortex workspace create',
  });
  expect(await grant('acme', '!!', ...rest)).toMatchObject({
    code: 1,
    told: expect.stringContaining('domain has no letter or digit'),
  });
  expect(await grant('acme', 'x', '--role', 'king', '--permission', 'read')).toMatchObject({ code: 2 });
  expect(await grant('acme', 'x', '--role', 'qa')).toMatchObject({ code: 2 });
});
