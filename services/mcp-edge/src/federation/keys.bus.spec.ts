import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv, json, type TestBackend, testBackend } from '../testing/backend.js';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';

let demo: TestBackend;
let edge: EdgeFixture;
let token: string;
beforeAll(async () => {
  demo = await testBackend([{ name: 'save', scope: 'mcp:demo:write', description: 'Saves.' }]);
  edge = await startEdge({ beside: [], env: backendEnv({ demo }, { CORTEX_BACKEND_DEMO_TIMEOUT_MS: '300' }) });
  await eventually(() => edge.edge.federation.complete);
  token = await edge.token({ scope: 'mcp:demo:write' });
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await demo[Symbol.asyncDispose]();
});

const call = (key: string, args: unknown = {}, signal?: AbortSignal) =>
  edge.call('demo_save', args, { token, meta: { 'cortex/idempotencyKey': key }, ...(signal && { signal }) });
const saves = () => demo.asked.filter(({ method }) => method === 'save').length;

describe('a call of a backend with an idempotency key', () => {
  it('runs once and gives its result again', async () => {
    demo.answers['save'] = () => ({ id: saves() });
    const first = await call('once');
    const again = await call('once');
    expect(again.body.result.content).toEqual(first.body.result.content);
    expect(demo.asked.filter(({ headers }) => headers['x-cortex-idempotency-key'] === 'once')).toHaveLength(1);
  });

  it('joins the call that runs', async () => {
    let answer = (): unknown => undefined;
    demo.answers['save'] = (_asked, res) => void (answer = () => json(res, 200, { done: true }));
    const before = saves();
    const both = [call('joined'), call('joined')];
    await eventually(() => saves() === before + 1);
    answer();
    for (const { body } of await Promise.all(both)) expect(body.result.content[0].text).toBe('{"done":true}');
    expect(saves()).toBe(before + 1);
  });

  it.each([
    ['timed out', () => undefined],
    ['lost its connection', (_: unknown, res: ServerResponse) => void res.destroy()],
    ['got an answer that is none', (_: unknown, res: ServerResponse) => void res.end('<html>')],
  ])('that %s is never sent again: its outcome is unknown', async (how, handler) => {
    demo.answers['save'] = handler as never;
    const before = saves();
    expect((await call(how)).body.error.code).toBe(-32603);
    demo.answers['save'] = () => ({ ok: true });
    const { result } = (await call(how)).body;
    expect(result._meta['cortex/error']).toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('is unknown'),
    });
    expect(saves()).toBe(before + 1);
  });

  it('whose caller left is never sent again either', async () => {
    demo.answers['save'] = () => undefined;
    const before = saves();
    const leave = new AbortController();
    const left = call('left', {}, leave.signal).catch(() => undefined);
    await eventually(() => saves() === before + 1);
    leave.abort();
    await left;
    await eventually(async () => (await call('left')).body.result?._meta?.['cortex/error']?.kind === 'conflict');
    expect(saves()).toBe(before + 1);
  });

  it('that nobody was there for, or that was refused for the moment, runs when it is sent again', async () => {
    await demo.shut();
    expect((await call('away')).body.error.message).toBe('Backend demo unavailable');
    await demo.open();
    demo.answers['save'] = (_asked, res) => json(res, 429, { error: 'later' });
    await eventually(async () => (await call('away')).body.result?.content?.[0]?.text === 'later');
    demo.answers['save'] = () => ({ ok: true });
    await eventually(async () => (await call('away')).body.result?.content?.[0]?.text === '{"ok":true}');
  });

  it('that was refused for good gives its refusal again', async () => {
    demo.answers['save'] = (_asked, res) => json(res, 422, { error: 'no such text' });
    await call('refused');
    demo.answers['save'] = () => ({ ok: true });
    expect((await call('refused')).body.result).toMatchObject({ isError: true, content: [{ text: 'no such text' }] });
    demo.answers['save'] = (_asked, res) => json(res, 403, { error: 'not yours' });
    const first = await call('forbidden');
    demo.answers['save'] = () => ({ ok: true });
    expect((await call('forbidden')).body.error).toEqual(first.body.error);
  });
});
