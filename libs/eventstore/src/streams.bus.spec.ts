import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { BLOBS, BUCKETS, type Bucket, CALLS_STREAM, EVENTS_STREAM, SSE_STREAM } from '@cortex/contracts';
import { natsFixture, type NatsFixture } from '@cortex/testing';
import { provisionBus } from './provision-bus.js';

const SECOND = 1_000_000_000;
const DAY = 86_400 * SECOND;

let nats: NatsFixture;
let jsm: JetStreamManager;
beforeAll(async () => {
  nats = await natsFixture();
  jsm = await jetstreamManager((await nats.busAs('provision')).nc);
});
afterAll(async () => nats[Symbol.asyncDispose]());
const configOf = async (name: string) => (await jsm.streams.info(name)).config;

describe('what JetStream keeps', () => {
  it('events are kept for ever, and a full stream refuses rather than drops', async () =>
    expect(await configOf(EVENTS_STREAM)).toMatchObject({
      subjects: ['cortex.evt.>'],
      storage: 'file',
      max_age: 0,
      discard: 'new',
    }));

  it('call records are kept as long as the retention says', async () => {
    expect(await configOf(CALLS_STREAM)).toMatchObject({
      subjects: ['cortex.call.>'],
      max_age: 365 * DAY,
      discard: 'new',
    });
    const { nc } = await nats.busAs('provision');
    await provisionBus({ nc, services: [], retention: { callsDays: 30 } });
    expect((await configOf(CALLS_STREAM)).max_age).toBe(30 * DAY);
  });

  it('events of client streams are kept for ten minutes, and the newest thousand of each', async () =>
    expect(await configOf(SSE_STREAM)).toMatchObject({
      subjects: ['cortex.sse.>'],
      max_age: 600 * SECOND,
      max_msgs_per_subject: 1000,
      discard: 'old',
    }));

  it('large bodies are kept for a day', async () => expect((await configOf(BLOBS)).max_age).toBe(DAY));

  it.each(Object.values(BUCKETS) as Bucket[])(
    'a key of $name lives for $ttl_s s, with its newest value alone',
    async ({ name, ttl_s }) =>
      expect(await configOf(`KV_${name}`)).toMatchObject({
        subjects: [`$KV.${name}.>`],
        max_age: ttl_s * SECOND,
        max_msgs_per_subject: 1,
        allow_rollup_hdrs: false,
      }),
  );
});
