import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BlobRef, BUCKETS } from '@cortex/contracts';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ran } from '../testing/sample-tools.js';

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(async () => edge[Symbol.asyncDispose]());

const keyed = (key: string) => ({ 'cortex/idempotencyKey': key });
const fault = (answer: Awaited<ReturnType<EdgeFixture['call']>>) => answer.body.result?._meta?.['cortex/error'];

describe('the same key of the same caller', () => {
  it('gives the first result again and runs nothing', async () => {
    const first = await edge.call('sample_echo', { text: 'one' }, { meta: keyed('k1') });
    const before = ran('sample_echo');
    const again = await edge.call('sample_echo', { text: 'one' }, { meta: keyed('k1'), id: 2 });
    expect(again.body.result).toEqual(first.body.result);
    expect(ran('sample_echo')).toBe(before);
  });
  it('with other arguments is a conflict', async () => {
    await edge.call('sample_echo', { text: 'one' }, { meta: keyed('k2') });
    const other = await edge.call('sample_echo', { text: 'two' }, { meta: keyed('k2') });
    expect(fault(other)).toMatchObject({ kind: 'conflict', reason: 'idempotency_mismatch' });
    expect(fault(await edge.call('sample_slow', { ms: 0 }, { meta: keyed('k2') }))).toMatchObject({
      reason: 'idempotency_mismatch',
    });
  });
  it('waits for the first call and gives its result', async () => {
    const before = ran('sample_slow');
    const both = await Promise.all(
      [1, 2, 3].map((id) => edge.call('sample_slow', { ms: 400, mark: 'k3' }, { meta: keyed('k3'), id })),
    );
    for (const answer of both) expect(answer.body.result.structuredContent).toEqual({ mark: 'k3' });
    expect(ran('sample_slow')).toBe(before + 1);
  });
  it.each([
    ['unavailable', { kind: 'unavailable' }],
    ['outrun', { kind: 'conflict', reason: 'revision_conflict' }],
  ])('runs again after a failure that may pass: %s', async (how, failure) => {
    const before = ran('sample_fail');
    for (const id of [1, 2])
      expect(fault(await edge.call('sample_fail', { how }, { meta: keyed(`k4 ${how}`), id }))).toMatchObject(failure);
    expect(ran('sample_fail')).toBe(before + 2);
  });
  it('gives a large result again', async () => {
    const text = 'ä'.repeat(400_000);
    const first = await edge.call('sample_echo', { text }, { meta: keyed('k5') });
    const again = await edge.call('sample_echo', { text }, { meta: keyed('k5') });
    expect(again.body.result.structuredContent.text).toBe(text);
    expect(again.text.length).toBe(first.text.length);
  });
});

it('T03 T17 the same key of another caller starts a call of its own', async () => {
  await edge.call('sample_echo', { text: 'mine' }, { meta: keyed('shared') });
  for (const claims of [{ sub: 'bob' }, { client_id: 'other-client' }]) {
    const token = await edge.token(claims);
    const before = ran('sample_echo');
    const answer = await edge.call('sample_echo', { text: 'theirs' }, { meta: keyed('shared'), token });
    expect(answer.body.result.structuredContent).toEqual({ text: 'theirs' });
    expect(ran('sample_echo')).toBe(before + 1);
  }
});

it('T17 after the scope is taken away the stored result is refused', async () => {
  await edge.call('sample_slow', { ms: 0, mark: 'own' }, { meta: keyed('k6') });
  const token = await edge.token({ scope: 'mcp:cortex:read' });
  const answer = await edge.call('sample_slow', { ms: 0, mark: 'own' }, { meta: keyed('k6'), token });
  expect([answer.status, answer.body.error.message]).toEqual([403, 'Insufficient scope']);
});

describe('what is kept of a keyed call', () => {
  const CANARY = 'canary-8c1f';
  /** Makes a call and gives the entry that it left in the bucket. */
  async function kept(text: string, key: string) {
    const bus = await edge.nats.busAs('provision');
    const bucket = bus.kv(BUCKETS.idempotency.name);
    const keys = async () => {
      const all: string[] = [];
      for await (const entry of bucket.walk()) all.push(entry.key);
      return all;
    };
    const before = new Set(await keys());
    await edge.call('sample_echo', { text }, { meta: keyed(key) });
    const at = (await keys()).find((name) => !before.has(name)) ?? '';
    const stored = (await bucket.get(at))!;
    return { bus, bucket, at, text: Buffer.from(stored.value).toString(), entry: stored.json<{ sealed: BlobRef }>() };
  }

  it('T15 T89 is sealed', async () => {
    const { text, entry } = await kept(CANARY, 's1');
    expect(entry.sealed).toMatch(/^v1\./);
    expect(text).not.toContain(CANARY);
  });

  it('T15 T89 is sealed also where it is large', async () => {
    const { bus, entry } = await kept(CANARY.repeat(60_000), 's2');
    const blob = Buffer.from(await bus.blobs.get(entry.sealed)).toString();
    expect(blob).toMatch(/^v1\./);
    expect(blob).not.toContain(CANARY);
  });

  it('T15 opens under no other key, not even of the same caller', async () => {
    const first = await kept('one', 's3');
    const { bucket, at, entry } = await kept('two', 's4');
    await bucket.put(at, JSON.stringify({ ...entry, sealed: first.entry.sealed }));
    const before = ran('sample_echo');
    const answer = await edge.call('sample_echo', { text: 'two' }, { meta: keyed('s4') });
    expect(fault(answer)).toMatchObject({ kind: 'failed_precondition', field: 'cortex/idempotencyKey' });
    expect(ran('sample_echo')).toBe(before);
  });

  it('a failure that stays is given again from it', async () => {
    const before = ran('sample_fail');
    const [first, again] = [
      await edge.call('sample_fail', { how: 'taken' }, { meta: keyed('s5') }),
      await edge.call('sample_fail', { how: 'taken' }, { meta: keyed('s5') }),
    ];
    expect(fault(again)).toEqual({ ...fault(first), call_id: fault(again).call_id });
    expect(ran('sample_fail')).toBe(before + 1);
  });
});
