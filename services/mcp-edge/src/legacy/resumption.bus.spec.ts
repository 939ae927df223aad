import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@cortex/testing';
import { startEdge, type EdgeFixture } from '../testing/edge-fixture.js';
import { backendEnv } from '../testing/backend.js';
import { rawClient, type RawClient, type RawStream } from '../testing/raw-client.js';
import {
  answerOf,
  listen,
  numbersOf,
  progressOf,
  STEPPED,
  type SteppedCall,
  steppedCalls,
  type SteppedCalls,
} from '../testing/stepped-calls.js';

let calls: SteppedCalls;
let edge: EdgeFixture;
let raw: RawClient;
beforeAll(async () => {
  calls = await steppedCalls();
  edge = await startEdge({ env: backendEnv({ demo: calls.backend }, { CORTEX_SSE_KEEPALIVE_MS: '300' }) });
  raw = rawClient(edge.origin, await edge.token({ scope: STEPPED }));
  await eventually(() => edge.edge.catalog.find('demo_work') !== undefined);
});
afterAll(async () => {
  await edge[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

/** A call whose connection breaks after its first progress. */
async function broken(session: string, id?: unknown): Promise<{ call: SteppedCall; stream: RawStream }> {
  const call = await calls.begin(raw, session, id);
  call.progress(1);
  const stream = await call.stream;
  await eventually(() => progressOf(stream).length === 1);
  stream.close();
  return { call, stream };
}
const resume = (session: string, id: string | undefined, more = {}) => listen(raw, session, id ?? '', more);

describe('a client that comes back for an answer', () => {
  it('P12 gets it when the connection broke before it came, and what was told until then, once', async () => {
    const session = await calls.open(raw);
    const { call, stream } = await broken(session);
    call.progress(2);
    const again = await resume(session, stream.ids[1]);
    await eventually(() => progressOf(again).length === 1);
    expect(again.text).toMatch(new RegExp(`^id: ${stream.ids[1]}\nretry: 2000\ndata: \n\n`));
    call.progress(3);
    call.finish();
    await eventually(() => again.ended);
    expect([progressOf(again), answerOf(again)?.id, numbersOf(again)]).toEqual([[2, 3], 1, [1, 2, 3, 4]]);
  });

  it('P12 gets it when it came while nobody was there', async () => {
    const session = await calls.open(raw);
    const { call, stream } = await broken(session, 'text');
    call.finish();
    const again = await resume(session, stream.ids[0]);
    await eventually(() => again.ended);
    expect([progressOf(again), answerOf(again)?.id]).toEqual([[1], 'text']);
  });

  it('is told by 204 that nothing more will come, so that it stops asking', async () => {
    const session = await calls.open(raw);
    const call = await calls.begin(raw, session);
    call.finish();
    const stream = await call.stream;
    await eventually(() => stream.ended);
    expect(numbersOf(stream)).toEqual([0, 1]);
    const replayed = await resume(session, stream.ids[0]);
    await eventually(() => replayed.ended);
    expect(answerOf(replayed)?.id).toBe(1);
    expect((await resume(session, stream.ids[1])).status).toBe(204);
  });

  it('gets a result that is larger than a message of the bus', async () => {
    const session = await calls.open(raw);
    const { call, stream } = await broken(session);
    const text = 'é'.repeat(700_000);
    call.finish(text);
    const again = await resume(session, stream.ids[0]);
    await eventually(() => again.ended);
    expect(answerOf(again)?.result.content[0].text).toBe(text);
  });

  it('may come back as often as its connection breaks: the newest one is served', async () => {
    const session = await calls.open(raw);
    const { call, stream } = await broken(session);
    const older = await resume(session, stream.ids[0]);
    await eventually(() => progressOf(older).length === 1);
    const newer = await resume(session, stream.ids[1]);
    await eventually(() => older.ended);
    call.finish();
    await eventually(() => newer.ended);
    expect([answerOf(older), answerOf(newer)?.id]).toEqual([undefined, 1]);
  });

  it('T18 leaves nothing behind, however often it comes back', async () => {
    const open = async (): Promise<number> => {
      const { text } = await raw.ask({ method: 'GET', path: '/metrics', headers: { accept: '*/*' } });
      return Number(/^gw_streams\{kind="resumed"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const session = await calls.open(raw);
    const { call, stream } = await broken(session);
    const many = await Promise.all(Array.from({ length: 150 }, () => resume(session, stream.ids[0])));
    expect(many.every(({ status }) => status === 200)).toBe(true);
    await eventually(async () => (await open()) === 1);
    call.finish();
    await eventually(async () => (await open()) === 0);
    expect(many.filter((one) => answerOf(one) !== undefined)).toHaveLength(1);
  });

  it('P72 finds what it is asked meanwhile, and the call goes on with its answer', async () => {
    const session = await calls.open(raw, '2025-11-25', { elicitation: {} });
    const { call, stream } = await broken(session);
    const params = { message: 'Sure?', requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } } };
    const inputRequests = { sure: { method: 'elicitation/create', params } };
    call.end({ resultType: 'input_required', inputRequests, requestState: 'so far' });
    const again = await resume(session, stream.ids[1]);
    const question = await eventually(
      () => again.events.find(({ method }) => method === 'elicitation/create') ?? false,
    );
    const result = { action: 'accept', content: { ok: true } };
    const body = { jsonrpc: '2.0', id: question.id, result };
    expect((await raw.ask({ body, headers: { 'mcp-session-id': session } })).status).toBe(202);
    (await call.again()).finish();
    await eventually(() => again.ended);
    expect([question.params.message, answerOf(again)?.id, numbersOf(again)]).toEqual(['Sure?', 1, [1, 2, 3]]);
    expect(calls.backend.asked.at(-1)?.context).toMatchObject({
      inputResponses: { sure: result },
      requestState: 'so far',
    });
  });

  it('of an older revision gets no empty event, and can come back once it has an id', async () => {
    const session = await calls.open(raw, '2025-06-18');
    const { call, stream } = await broken(session);
    expect(numbersOf(stream)).toEqual([1]);
    expect(stream.text).not.toContain('retry:');
    call.line({ type: 'close_stream' });
    call.progress(2);
    const again = await resume(session, stream.ids[0]);
    await eventually(() => progressOf(again).length === 1);
    expect(again.ended).toBe(false);
    call.finish();
    await eventually(() => again.ended);
    expect([progressOf(again), answerOf(again)?.id, numbersOf(again)]).toEqual([[2], 1, [2, 3]]);
  });
});

describe('P13 an event id', () => {
  it('replays its own stream and no other', async () => {
    const session = await calls.open(raw);
    const one = await broken(session, 'one');
    const two = await broken(session, 'two');
    one.call.finish();
    two.call.finish();
    const again = await resume(session, one.stream.ids[0]);
    await eventually(() => again.ended);
    expect([progressOf(again), answerOf(again)?.id]).toEqual([[1], 'one']);
  });

  it.each(['nonsense', '0', `n${'0'.repeat(16)}-3`, '../a-1', '*-1'])(
    '%s that nobody gave opens a stream of its own, with nothing in it',
    async (id) => {
      const stream = await resume(await calls.open(raw), id);
      await eventually(() => stream.ids.length === 1);
      expect([stream.status, stream.events, stream.ids[0] === id]).toEqual([200, [], false]);
      stream.close();
    },
  );

  it('of an answer that nobody knows, or of later than its newest, replays nothing', async () => {
    const session = await calls.open(raw);
    expect((await resume(session, `a${'0'.repeat(16)}-0`)).status).toBe(204);
    const { call, stream } = await broken(session);
    call.finish();
    expect((await resume(session, stream.ids[0]?.replace(/0$/, '9'))).status).toBe(204);
  });

  it('T03 of another session or caller replays nothing', async () => {
    const session = await calls.open(raw);
    const { call, stream } = await broken(session);
    call.finish();
    expect((await resume(await calls.open(raw), stream.ids[0])).status).toBe(204);
    const stranger = await edge.token({ sub: 'bob', scope: STEPPED });
    expect((await resume(session, stream.ids[0], { token: stranger })).status).toBe(404);
  });
});

describe('a stream that is ended early', () => {
  it('at the wish of the backend: its call goes on, and the answer is there for who comes back', async () => {
    const session = await calls.open(raw);
    const call = await calls.begin(raw, session);
    call.line({ type: 'close_stream' });
    const stream = await call.stream;
    await eventually(() => stream.ended);
    expect(stream.text).toMatch(/^id: \w+-0\nretry: 2000\ndata: \n\nretry: 2000\n\n$/);
    const again = await resume(session, stream.ids[0]);
    call.progress(5);
    call.finish();
    await eventually(() => again.ended);
    expect([progressOf(again), answerOf(again)?.id]).toEqual([[5], 1]);
  });

  it('after a while where clients are to poll, again and again', async () => {
    const polling = { CORTEX_SSE_POLL_AFTER_MS: '200', CORTEX_SSE_RETRY_MS: '50' };
    await using polled = await startEdge({ env: backendEnv({ demo: calls.backend }, polling) });
    const client = rawClient(polled.origin, await polled.token({ scope: STEPPED }));
    await eventually(() => polled.edge.catalog.find('demo_work') !== undefined);
    const session = await calls.open(client);
    const call = await calls.begin(client, session);
    const stream = await call.stream;
    await eventually(() => stream.ended);
    expect(stream.text).toMatch(/^id: \w+-0\nretry: 50\ndata: \n\nretry: 50\n\n$/);
    const again = await listen(client, session, stream.ids[0]);
    await eventually(() => again.ended);
    expect([again.events, again.ids]).toEqual([[], stream.ids]);
    call.finish();
    const last = await listen(client, session, again.ids[0]);
    await eventually(() => last.ended);
    expect(answerOf(last)?.id).toBe(1);
  });
});

it('P11 a stop waits for the answer of who came back for it', async () => {
  await using other = await startEdge({ env: backendEnv({ demo: calls.backend }) });
  const client = rawClient(other.origin, await other.token({ scope: STEPPED }));
  await eventually(() => other.edge.catalog.find('demo_work') !== undefined);
  const session = await calls.open(client);
  const call = await calls.begin(client, session);
  call.line({ type: 'close_stream' });
  const stream = await call.stream;
  await eventually(() => stream.ended);
  const again = await listen(client, session, stream.ids[0]);
  const notices = await listen(client, session);
  const stopping = other.app.stop();
  await eventually(() => notices.ended);
  expect(again.ended).toBe(false);
  call.finish();
  await eventually(() => again.ended);
  expect(answerOf(again)?.id).toBe(1);
  await stopping;
});
