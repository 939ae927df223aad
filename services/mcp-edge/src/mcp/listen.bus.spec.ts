import { describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge } from '../testing/edge-fixture.js';
import { listen } from '../testing/listen.js';

const subscription = { 'io.modelcontextprotocol/subscriptionId': 'sub' };

describe('subscriptions/listen', () => {
  it('T18 takes twenty streams of one caller and refuses the next at once, and a closed one makes room', async () => {
    await using edge = await startEdge();
    const open = await Promise.all(Array.from({ length: 20 }, () => listen(edge)));
    const refused = await listen(edge);
    expect(refused.events).toEqual([
      { jsonrpc: '2.0', id: 'sub', error: { code: -32603, message: 'Subscription limit reached' } },
    ]);
    const other = await listen(edge, await edge.token({ sub: 'bob' }));
    expect(other.events[0]).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    await open.pop()?.[Symbol.asyncDispose]();
    await eventually(async () => {
      await using again = await listen(edge);
      return again.events[0].error === undefined;
    });
    await Promise.all([...open, other].map((stream) => stream[Symbol.asyncDispose]()));
  });

  it('ends with its closing result at a stop', async () => {
    await using edge = await startEdge();
    const stream = await listen(edge);
    await edge.app.stop();
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ id: 'sub', result: { resultType: 'complete', _meta: subscription } });
  });

  it("ends when the caller's token does", async () => {
    await using edge = await startEdge({ env: { OAUTH_CLOCK_SKEW_SECONDS: '0' } });
    const stream = await listen(edge, await edge.token({ exp: Math.floor(Date.now() / 1000) + 3 }));
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ id: 'sub', result: { _meta: subscription } });
  });

  it('wants a client that takes event streams', async () => {
    await using edge = await startEdge();
    const { status, body } = await edge.ask(
      'subscriptions/listen',
      { notifications: {} },
      { headers: { accept: 'application/json' } },
    );
    expect([status, body.error.code]).toEqual([406, 406]);
  });
});

it('a stop lets a call under way end, and turns new ones away', async () => {
  await using edge = await startEdge();
  const call = edge.call('sample_slow', { ms: 1_000, mark: 'last' });
  await eventually(() => edge.edge.pipeline.inFlight === 1);
  const stopping = edge.app.stop();
  await eventually(() => edge.edge.route.draining);
  const late = await edge.call('sample_echo', { text: 'x' });
  expect([late.status, late.text]).toEqual([503, '{"error":"shutting_down"}']);
  expect((await call).body.result.structuredContent).toEqual({ mark: 'last' });
  await stopping;
});
