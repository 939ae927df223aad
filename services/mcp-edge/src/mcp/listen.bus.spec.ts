import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
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

describe('what is asked of a listen stream', () => {
  let edge: EdgeFixture;
  beforeAll(async () => {
    edge = await startEdge({ beside: [] });
  });
  afterAll(async () => edge[Symbol.asyncDispose]());
  const both = { accept: 'application/json, text/event-stream' };
  /** The first message of a stream that is left after it, or of an answer that is none. */
  const first = async (params: Record<string, unknown>, id: string | number = 1) => {
    const leave = new AbortController();
    const found: { text?: string } = {};
    const onText = (text: string): void => {
      if (!text.includes('data: ') && !text.startsWith('{')) return;
      found.text = text;
      leave.abort();
    };
    const answer = await edge
      .ask('subscriptions/listen', params, { id, headers: both, signal: leave.signal, onText })
      .catch(() => undefined);
    const line = found.text?.split('\n').find((part) => part.startsWith('data: '));
    return { status: answer?.status ?? 200, message: JSON.parse(line?.slice(6) ?? found.text ?? '') };
  };

  it('is named, and what nobody can be told is left out of what is acknowledged', async () => {
    const { message } = await first({
      notifications: { toolsListChanged: true, resourceSubscriptions: ['cortex://architecture', 'none://x'] },
    });
    expect(message).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    expect(message.params.notifications).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['cortex://architecture'],
    });
  });

  it.each([7, '7'])('comes with the id of the request in its own type: %j', async (id) => {
    const { message } = await first({ notifications: { toolsListChanged: true } }, id);
    expect(message.params._meta).toEqual({ 'io.modelcontextprotocol/subscriptionId': id });
  });

  it.each([[{}], [{ notifications: 'all' }], [{ notifications: { resourceSubscriptions: 'x' } }]])(
    'is an error of the parameters where it is %j',
    async (params) => {
      const { message } = await first(params);
      expect(message.error).toMatchObject({ code: -32602 });
    },
  );
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
