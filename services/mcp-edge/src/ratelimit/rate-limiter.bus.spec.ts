import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { natsFixture, type NatsFixture } from '@cortex/testing';
import { type CallerContext, HttpRefusal } from '../seams.js';
import { RateLimiter, type RateLimiterOptions } from './rate-limiter.js';

let nats: NatsFixture;
let bus: Bus;
beforeAll(async () => {
  nats = await natsFixture();
  bus = await nats.busAs('mcp-edge');
});
afterAll(async () => nats[Symbol.asyncDispose]());

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
let n = 0;
const somebody = (over: Partial<CallerContext> = {}): CallerContext =>
  ({ caller_hash: `${++n}x`.padEnd(64, 'a'), dev_bypass: false, ...over }) as CallerContext;
let clock = Date.parse('2026-01-01T00:00:00Z');
const limiter = (perMinute: number, over: Partial<RateLimiterOptions> = {}) =>
  new RateLimiter({ bus, log: silent, perMinute, now: () => clock, ...over });
const allowed = async (limiter: RateLimiter, caller: CallerContext, times: number): Promise<number> => {
  let passed = 0;
  for (let i = 0; i < times; i++) if ((await limiter.take(caller)) === undefined) passed++;
  return passed;
};

describe('the limit of a minute', () => {
  it('lets exactly so many pass, and tells when to come again', async () => {
    const l = limiter(25);
    const caller = somebody();
    expect(await allowed(l, caller, 40)).toBe(25);
    clock += 20_500;
    const refusal = await l.take(caller);
    expect(refusal).toBeInstanceOf(HttpRefusal);
    expect(refusal).toMatchObject({ status: 429, headers: { 'Retry-After': '40' } });
    expect(JSON.parse(refusal?.body ?? '')).toMatchObject({ error: { code: 429, message: 'Rate limit exceeded' } });
    clock += 39_500;
    expect(await l.take(caller)).toBeUndefined();
  });
  it('T14 is one bucket per caller key, whatever way a call comes by, and another caller has its own', async () => {
    const l = limiter(10);
    const [one, other] = [somebody(), somebody()];
    expect(await allowed(l, one, 20)).toBe(10);
    expect(await allowed(l, { ...one, jti: 'another token of the same caller' }, 5)).toBe(0);
    expect(await allowed(l, other, 5)).toBe(5);
  });
  it('is shared by the replicas, within one block of each', async () => {
    const replicas = [limiter(100), limiter(100), limiter(100)];
    const caller = somebody();
    let passed = 0;
    for (let i = 0; i < 100; i++)
      for (const replica of replicas) if ((await replica.take(caller)) === undefined) passed++;
    expect(passed).toBe(100);
  });
  it('is decided in memory for most requests', async () => {
    const l = limiter(10_000);
    const caller = somebody();
    await l.take(caller);
    let waited = 0;
    for (let i = 0; i < 400; i++) if (l.take(caller) instanceof Promise) waited++;
    expect(waited).toBe(0);
  });
  it('of a burst at the beginning of a window holds too', async () => {
    const l = limiter(30);
    const caller = somebody();
    const answers = await Promise.all(Array.from({ length: 100 }, async () => l.take(caller)));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(30);
  });
  it('does not reach the development bypass, and none is applied when it is off', async () => {
    expect(await allowed(limiter(1), somebody({ dev_bypass: true }), 5)).toBe(5);
    expect(await allowed(limiter(1, { disabled: true }), somebody(), 5)).toBe(5);
  });
});

it('while NATS is away each replica applies the whole limit alone', async () => {
  let alone = 0;
  const l = limiter(20, { onLocal: () => alone++ });
  await nats.kill();
  expect(await allowed(l, somebody(), 50)).toBe(20);
  expect(alone).toBe(1);
  await nats.restart();
});
