import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import type { Explanation } from '../explain/explain.js';
import { backendEnv, testBackend, type TestBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ADMIN_SECRET, operator } from '../testing/operator.js';

const tool = (name: string) => ({ name, scope: 'mcp:demo:use', description: `Does ${name}.` });
let demo: TestBackend;
let edge: EdgeFixture;
beforeAll(async () => {
  demo = await testBackend([tool('note')]);
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_ADMIN_SECRET: ADMIN_SECRET }) });
  await eventually(() => edge.edge.federation.complete);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const refresh = () => edge.edge.federation.refresh('demo');
const called = async (name: string, scope: string) =>
  (await edge.call(name, {}, { token: await edge.token({ scope }) })).body;
const explained = async (name: string): Promise<Explanation> => {
  const token = await edge.token({ scope: 'mcp:cortex:read' });
  return (await operator(edge, 'POST', 'explain', { tool: name, token })).body as Explanation;
};
const away = async () => {
  const response = await fetch(`${edge.origin}/ready`, { headers: { 'x-cortex-admin-secret': ADMIN_SECRET } });
  return ((await response.json()) as { details: { unreachable: { since: string; problem: string }[] } }).details
    .unreachable;
};

describe('a tool of a backend that is away', () => {
  let since: string;
  beforeEach(async () => {
    await demo.shut();
    // The first one may meet a connection that was kept open.
    for (let n = 0; n < 2; n++) await refresh();
    since = (await away())[0]?.since ?? '';
  });

  it('is told with the backend and since when, to whoever has a scope of it and to operators', async () => {
    expect(Date.now() - Date.parse(since)).toBeLessThan(600_000);
    for (const scope of ['mcp:demo:other', 'mcp:cortex:admin'])
      expect(await called('demo_note', scope)).toMatchObject({
        error: {
          code: -32602,
          message: `Unknown tool: demo_note. It is a name of backend demo, which is away since ${since}: try again later; an operator sees with cortex status what is wrong there.`,
        },
      });
    expect((await called('mcp__cortex__demo_note', 'mcp:demo:use')).error.message).toContain('backend demo');
  });

  it('is an unknown one to everybody else, and so is a name that the backend never had', async () => {
    for (const [name, scope] of [
      ['demo_note', 'mcp:cortex:read'],
      ['demo_other', 'mcp:demo:use'],
    ] as const) {
      const { error } = await called(name, scope);
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(`Unknown tool: ${name}.`) });
      expect(error.message).not.toContain('backend');
    }
  });

  it('is explained to an operator with what is wrong, whatever the caller may know', async () => {
    const [step] = (await explained('demo_note')).steps.filter(({ gate }) => gate === 'resolve_tool');
    expect(step).toEqual({
      gate: 'resolve_tool',
      result: 'refuse',
      why: `it is a name of backend demo, which is away since ${since}: nobody answers there`,
      source: { kind: 'backend', id: 'demo' },
      fix: { text: 'have demo answer again; its tools come back by themselves', who: ['an operator'] },
    });
  });

  it('is away since the first refresh that failed, and no longer once one succeeds', async () => {
    await refresh();
    expect(await away()).toEqual([{ backend: 'demo', problem: 'nobody answers there', since }]);
    await demo.open();
    await refresh();
    expect(await away()).toEqual([]);
    expect((await called('demo_other', 'mcp:demo:use')).error.message).not.toContain('backend');
  });
});

it('a name with the prefix of a backend that was never heard since the start is told as its', async () => {
  await using other = await startEdge({
    beside: [],
    env: { ...backendEnv({ demo }), CORTEX_BACKEND_DEMO_URL: 'http://127.0.0.1:1' },
  });
  await eventually(() => other.edge.federation.complete);
  const token = await other.token({ scope: 'mcp:demo:use' });
  const { error } = (await other.call('demo_note', {}, { token })).body;
  expect(error.message).toContain('It is a name of backend demo, which is away since');
});
