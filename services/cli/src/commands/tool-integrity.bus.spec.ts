import { rm } from 'node:fs/promises';
import { backendEnv, testBackend, type TestBackend } from '@cortex/mcp-edge/testing/backend';
import { eventually, tempDir, writeEvents } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { runningHome, type RunningHome } from '../testing/running-home.js';

const ECHO = { name: 'echo', scope: 'mcp:demo:read', description: 'Says it back.' };
const SECRET = 'the-secret-of-operators';
let demo: TestBackend;
let home: RunningHome;
let dir: string;
beforeAll(async () => {
  dir = await tempDir('baseline');
  demo = await testBackend([ECHO]);
  home = await runningHome({ beside: [], env: backendEnv({ demo }, { CORTEX_ADMIN_SECRET: SECRET }) });
  process.env['CORTEX_ADMIN_SECRET'] = SECRET;
  await eventually(() => home.edge.edge.federation.complete);
});
afterAll(async () => {
  delete process.env['CORTEX_ADMIN_SECRET'];
  await home[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});
const tools = (...args: string[]) => home.cortex('tools', ...args);

it('shows what waits, approves what it showed, and brings an earlier definition back (T20, T33)', async () => {
  expect((await tools('pending')).told).toContain('nothing is held back; 1 tools are approved');
  demo.tools = [{ ...ECHO, description: 'Says it\u202e back.' }];
  await home.edge.edge.federation.refresh('demo');
  expect((await tools('pending')).out).toContain('mutated, pending, scan:bidi_override');
  const { out } = await tools('diff', 'demo_echo');
  expect(out).toContain('! bidi_override at description');
  expect(out).toContain('[-it -]{+it<U+202E> +}');
  expect(await tools('approve', 'demo_echo', '--digest', '00000000')).toMatchObject({ code: 1 });
  const approved = await tools('approve', 'demo/echo');
  expect(approved).toMatchObject({ code: 0, told: expect.stringContaining('nothing is held back') });
  const { definitions } = JSON.parse((await tools('history', 'demo_echo', '--json')).out) as {
    definitions: { digest: string; by: string }[];
  };
  expect(definitions.map(({ by }) => by)).toEqual([expect.stringMatching(/^cli:/), 'first seen']);
  const back = await tools('rollback', 'demo_echo', definitions[1]?.digest.slice(0, 8) ?? '');
  expect(back).toMatchObject({ code: 0, told: expect.stringContaining('held back are: demo/echo') });
  const unknown = await tools('history', 'demo_none');
  expect(unknown).toMatchObject({ code: 1, told: 'tool "demo_none" is unknown; quarantined are: demo_echo' });
  expect(await tools('diff', 'demo_none')).toMatchObject({ code: 1, told: expect.stringContaining('demo_echo') });
});

it('starts over only when it is said that nobody looked', async () => {
  expect(await tools('start-over', 'demo')).toMatchObject({ code: 2 });
  expect(await tools('start-over', 'none', '--yes')).toMatchObject({
    code: 1,
    told: 'backend is not configured; name one of CORTEX_BACKENDS',
  });
});

it('says that everything is held back, why and how to get out, where the approvals cannot be believed (T20)', async () => {
  const bus = await home.edge.nats.busAs('mcp-edge');
  const definition = { digest: 'a'.repeat(64), fields: {}, order: '' };
  const data = { kind: 'tool', name: 'echo', definition, changed: [], by: 'nobody' };
  await writeEvents(bus, 'mcp-edge.catalog', null, 'demo', [{ type: 'ToolDefinitionAcknowledged', data }]);
  await bus.close();
  await home.edge.edge.federation.refresh('demo');
  const { out, told } = await tools('pending');
  expect(out).toBe('');
  expect(told).toMatch(/degraded: demo: .*; restore the log, or begin anew: cortex tools start-over demo --yes\n/);
  expect(told).toContain('everything of demo is held back until that is mended (items: 1)');
  expect(told).not.toContain('nothing is held back');
  const inDoubt = '  everything of demo is held back, for its approvals are in doubt: cortex tools pending\n';
  expect((await home.cortex('status')).out).toContain(inDoubt);
  for (const name of ['demo_echo', 'demo/echo'])
    expect(await tools('approve', name)).toMatchObject({
      code: 1,
      told: expect.stringMatching(/^demo.echo is held back with everything of demo: .*start-over demo --yes/),
    });
  expect((await tools('start-over', 'demo', '--yes')).told).not.toContain('everything');
});

it('signs a proposal, says whose it is, and finds what was changed behind the signature (T20)', async () => {
  const file = `${dir}/baseline.json`;
  const keys = ['private', 'public'].map((half) => `${dir}/key-${half}.pem`);
  const baseline = (...args: string[]) => home.cortex('baseline', ...args);
  // These take no home.
  const { program } = await import('../program.js');
  const run = (...args: string[]) => program().parseAsync(['baseline', ...args], { from: 'user' });
  await run('keygen', '--out', `${dir}/key`);
  const { out } = await baseline('proposal');
  writeFileSync(file, out);
  await expect(run('verify', file, '--key', keys[1] ?? '')).rejects.toThrow('is not signed');
  await run('sign', file, '--key', keys[0] ?? '');
  await run('verify', file, '--key', keys[1] ?? '');
  writeFileSync(file, JSON.stringify({ version: 2 }));
  await expect(run('verify', file, '--key', keys[1] ?? '')).rejects.toThrow('is no baseline');
});

it('sends the secret in the clear to this machine alone', async () => {
  expect(await tools('pending', '--url', 'http://cortex.example.com')).toMatchObject({ code: 2 });
  delete process.env['CORTEX_ADMIN_SECRET'];
  expect(await tools('pending', '--url', home.edge.origin)).toMatchObject({
    code: 2,
    told: expect.stringContaining('CORTEX_ADMIN_SECRET is missing'),
  });
  process.env['CORTEX_ADMIN_SECRET'] = 'a guess';
  expect(await tools('pending')).toMatchObject({
    code: 1,
    told: expect.stringContaining('does not know this admin secret'),
  });
  process.env['CORTEX_ADMIN_SECRET'] = SECRET;
});
