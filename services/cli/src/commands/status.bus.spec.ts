import { backendEnv, testBackend, type TestBackend } from '@cortex/mcp-edge/testing/backend';
import { eventually } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { runningHome, type RunningHome } from '../testing/running-home.js';

let demo: TestBackend;
let home: RunningHome;
beforeAll(async () => {
  demo = await testBackend([{ name: 'echo', scope: 'mcp:demo:read', description: 'Says it back.' }]);
  home = await runningHome({
    beside: [],
    env: backendEnv({ demo }, { CORTEX_ADMIN_SECRET: 'the-secret-of-operators' }),
  });
  await eventually(() => home.edge.edge.federation.complete);
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});
const backends = async () => (JSON.parse((await home.cortex('status', '--json')).out) as { backends: object }).backends;

it('status says which backends are away, since when and why, and is no worse for it', async () => {
  expect((await home.cortex('status')).out).toContain('backends: 1, all of them answer\n');
  expect(await backends()).toEqual({ configured: 1, away: [], held: 0, doubted: [] });
  await demo.shut();
  // The first one may meet a connection that was kept open.
  for (let n = 0; n < 2; n++) await home.edge.edge.federation.refresh('demo');
  const said = await home.cortex('status');
  expect(said.code).toBe(0);
  expect(said.out).toMatch(/: ready, /);
  expect(said.out).toMatch(/backends: 1, 1 of them away\n {2}demo is away for \d+ s: nobody answers there; /);
  expect(await backends()).toEqual({
    configured: 1,
    away: [{ backend: 'demo', problem: 'nobody answers there', since: expect.stringMatching(/^\d{4}-.*Z$/) }],
    held: 0,
    doubted: [],
  });
});

it('status says how much waits for an approval, and where to look', async () => {
  await demo.open();
  demo.tools = [{ name: 'echo', scope: 'mcp:demo:read', description: 'Says something else.' }];
  await home.edge.edge.federation.refresh('demo');
  const held = 'backends: 1, all of them answer\n  held back until they are approved: 1 (cortex tools pending)\n';
  expect((await home.cortex('status')).out).toContain(held);
  expect(await backends()).toEqual({ configured: 1, away: [], held: 1, doubted: [] });
});
