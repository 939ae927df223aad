import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { backendEnv } from '../testing/backend.js';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { rawClient, type RawClient, type RawStream } from '../testing/raw-client.js';
import {
  answerOf,
  listen,
  numbersOf,
  progressOf,
  STEPPED,
  steppedCalls,
  type SteppedCalls,
  streamOf,
} from '../testing/stepped-calls.js';
import { EventLog } from './event-log.js';

let calls: SteppedCalls;
let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  calls = await steppedCalls();
  edge = await startEdge({ env: backendEnv({ demo: calls.backend }) });
  raw = await clientOf(edge);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

async function clientOf(of: EdgeFixture): Promise<RawClient> {
  await eventually(() => of.edge.catalog.find('demo_work') !== undefined);
  return rawClient(of.origin, await edge.token({ scope: STEPPED }));
}
/** Another process of the same installation. */
const replica = () =>
  startEdge({
    nats: edge.nats,
    postgres: edge.postgres,
    env: backendEnv({ demo: calls.backend }, { OAUTH_ISSUER: edge.issuer.url, OAUTH_AUDIENCE: edge.url }),
  });

let more = 0;
/** The list of the backend changes, and every process sees it. */
async function change(...edges: EdgeFixture[]): Promise<void> {
  const name = `more_${more++}`;
  calls.backend.tools = [...calls.backend.tools, { name, scope: STEPPED, description: 'More.', params: {} }];
  for (const { edge: one } of edges) {
    await one.federation.refresh('demo');
    await eventually(() => one.catalog.find(`demo_${name}`) !== undefined);
  }
}
const told = ({ events }: RawStream): number =>
  events.filter(({ method }) => method === 'notifications/tools/list_changed').length;

describe('the notifications of a session', () => {
  it('that came while its connection was broken are replayed, once, and it goes on', async () => {
    const session = await calls.open(raw);
    const stream = await listen(raw, session);
    await change(edge);
    await eventually(() => told(stream) === 1);
    stream.close();
    await change(edge);
    const again = await listen(raw, session, stream.ids.at(-1));
    await eventually(() => told(again) === 1);
    await change(edge);
    await eventually(() => told(again) === 2);
    expect(numbersOf(again)).toEqual([1, 2, 3]);
    again.close();
    const third = await listen(raw, session, again.ids.at(-1));
    await eventually(() => third.ids.length === 1);
    expect([told(third), streamOf(third)]).toEqual([0, streamOf(stream)]);
    third.close();
  });

  it('are those of the newest stream: an older one ends, and is gone on with by who asks for it', async () => {
    const session = await calls.open(raw);
    const first = await listen(raw, session);
    await change(edge);
    await eventually(() => told(first) === 1);
    const second = await listen(raw, session);
    await eventually(() => first.ended);
    await change(edge);
    await eventually(() => told(second) === 1);
    const again = await listen(raw, session, first.ids[0]);
    await eventually(() => second.ended && told(again) === 1);
    expect(streamOf(again)).toBe(streamOf(first));
    again.close();
  });
});

describe('another process than the one that began a stream', () => {
  it('P12 has the answer of a call that the first one runs', async () => {
    await using other = await replica();
    const session = await calls.open(raw);
    const call = await calls.begin(raw, session);
    call.progress(1);
    const stream = await call.stream;
    await eventually(() => progressOf(stream).length === 1);
    stream.close();
    const again = await listen(await clientOf(other), session, stream.ids[0]);
    await eventually(() => progressOf(again).length === 1);
    call.progress(2);
    await eventually(() => progressOf(again).length === 2);
    call.finish();
    await eventually(() => again.ended);
    expect([numbersOf(again), answerOf(again)?.id]).toEqual([[0, 1, 2, 3], 1]);
  });

  it.each([
    [
      'tools/call',
      { isError: true, content: [{ text: expect.stringContaining('whether the call took effect is unknown') }] },
    ],
    ['resources/read', undefined],
  ])(
    'P05 says of a %s whose process died that nothing more will come, and does not run it again',
    async (method, result) => {
      const session = await calls.open(raw);
      const log = new EventLog(await edge.nats.busAs('mcp-edge'));
      const asked = calls.backend.asked.length;
      const stream = 'a0123456789abcdef';
      const call = { owner: 'killed', id: 'ä', method };
      await log.append(session, stream, { n: 0, data: Buffer.alloc(0), last: false, call });
      const both = [await listen(raw, session, `${stream}-0`), await listen(raw, session, `${stream}-0`)];
      const [, newest] = both as [RawStream, RawStream];
      await eventually(() => newest.ended);
      const [message] = newest.events;
      expect(message).toMatchObject({ id: 'ä', ...(result ? { result } : { error: { code: -32603 } }) });
      expect((await listen(raw, session, `${stream}-1`)).status).toBe(204);
      expect(calls.backend.asked.slice(asked).filter(({ method: one }) => one === 'work')).toEqual([]);
    },
  );

  it('P05 says so too to a client that was told more than was kept when its process was killed', async () => {
    const session = await calls.open(raw);
    const log = new EventLog(await edge.nats.busAs('mcp-edge'));
    const stream = 'a1123456789abcdef';
    const call = { owner: 'killed', id: 7, method: 'tools/call' };
    await log.append(session, stream, { n: 0, data: Buffer.alloc(0), last: false, call });
    const again = await listen(raw, session, `${stream}-2`);
    await eventually(() => again.ended);
    expect(answerOf(again)).toMatchObject({ id: 7, result: { isError: true } });
  });

  it('P14 says how many events are no longer kept', async () => {
    const session = await calls.open(raw);
    const log = new EventLog(await edge.nats.busAs('mcp-edge'));
    const stream = 'afedcba9876543210';
    const call = { owner: 'killed', id: 1, method: 'tools/call' };
    const data = Buffer.from('{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
    for (let n = 1; n <= 1004; n++) await log.append(session, stream, { n, data, last: n === 1004, call });
    const again = await listen(raw, session, `${stream}-0`);
    await eventually(() => again.ended);
    expect(again.text).toContain('\n\n: not kept of the events before this one: 4\n\nid:');
    expect(numbersOf(again)).toEqual([0, ...Array.from({ length: 1000 }, (_, i) => i + 5)]);
  });

  it('P14 reads the notifications from the log, and goes on with them', async () => {
    await using other = await replica();
    const session = await calls.open(raw);
    const stream = await listen(raw, session);
    await change(edge, other);
    await eventually(() => told(stream) === 1);
    await change(edge, other);
    await eventually(() => told(stream) === 2);
    const client = await clientOf(other);
    await edge.app.stop();
    await eventually(() => stream.ended);
    const again = await listen(client, session, stream.ids[1]);
    await eventually(() => told(again) === 1);
    await change(other);
    await eventually(() => told(again) === 2);
    expect([numbersOf(again), streamOf(again)]).toEqual([[1, 2, 3], streamOf(stream)]);
    again.close();
  });
});
