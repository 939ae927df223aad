import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { backendEnv } from '@cortex/mcp-edge/testing/backend';
import { rawClient, type RawClient } from '@cortex/mcp-edge/testing/raw-client';
import {
  answerOf,
  listen,
  numbersOf,
  progressOf,
  STEPPED,
  steppedCalls,
  type SteppedCalls,
} from '@cortex/mcp-edge/testing/stepped-calls';
import { eventually } from '@cortex/testing';
import { makeToken } from '../token.js';
import { RunningCortex } from './running.js';

// Real processes, a backend in this one, and a client of 2025-11-25 that comes back.
/** An instance that was killed counts as dead after ten seconds. */
const DEAD_MS = 30_000;
let calls: SteppedCalls;
let cortex: RunningCortex;
let client: RawClient;
beforeAll(async () => {
  calls = await steppedCalls();
  const env = backendEnv({ demo: calls.backend }, { CORTEX_REFRESH_INTERVAL_MS: '1000' });
  cortex = await RunningCortex.start({ env });
  client = rawClient(new URL(cortex.state.endpoint).origin, makeToken(cortex.home, {}, { scopes: STEPPED }));
});
afterAll(async () => {
  await cortex[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

const called = (): number => calls.backend.asked.filter(({ method }) => method === 'work').length;

it('P05 P12 a client comes back for a call whose process was killed, has what was told, and hears that the rest is unknown', async () => {
  const session = await calls.open(client);
  const before = called();
  const call = await calls.begin(client, session, 'mine');
  call.progress(1);
  call.progress(2);
  const stream = await call.stream;
  await eventually(() => progressOf(stream).length === 2);
  // Whoever comes back is given what is kept: an event is sent a moment before it is.
  const kept = await listen(client, session, stream.ids[0]);
  await eventually(() => progressOf(kept).length === 2);
  await cortex.kill('services');
  const again = await listen(client, session, stream.ids[1]);
  await eventually(() => again.ended, DEAD_MS);
  expect(again.events.slice(-1)).toMatchObject([
    { id: 'mine', result: { isError: true, content: [{ text: expect.stringContaining('is unknown') }] } },
  ]);
  expect([progressOf(again), numbersOf(again), called() - before]).toEqual([[2], [1, 2, 3], 1]);
});

it('P12 a call outlives a kill of NATS, and its client gets the answer', async () => {
  const session = await calls.open(client);
  const call = await calls.begin(client, session);
  call.line({ type: 'close_stream' });
  const stream = await call.stream;
  await eventually(() => stream.ended);
  await cortex.kill('nats');
  call.finish('late');
  const again = await listen(client, session, stream.ids[0]);
  await eventually(() => again.ended, DEAD_MS);
  expect(answerOf(again)?.result).toMatchObject({ content: [{ text: 'late' }] });
});

it('P14 notifications of before a kill are replayed after it', async () => {
  const session = await calls.open(client);
  const stream = await listen(client, session);
  await eventually(() => stream.ids.length === 1);
  calls.backend.tools = [...calls.backend.tools, { name: 'more', scope: STEPPED, description: 'More.', params: {} }];
  await eventually(() => stream.events.length === 1);
  await cortex.kill('services');
  await eventually(() => stream.ended);
  const again = await listen(client, session, stream.ids[0]);
  await eventually(() => again.events.length > 0);
  expect(again.events[0]).toMatchObject({ method: 'notifications/tools/list_changed' });
  expect(again.ids.slice(0, 2)).toEqual(stream.ids);
  again.close();
});
