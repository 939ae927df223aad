import { describe, expect, it } from '@jest/globals';
import { CALLS_STREAM, type CallFinished } from '@cortex/contracts';
import { eventually } from '@cortex/testing';
import { type EdgeFixture, startEdge } from '../testing/edge-fixture.js';
import { ran } from '../testing/sample-tools.js';

const fault = (answer: Awaited<ReturnType<EdgeFixture['call']>>) => answer.body.result?._meta?.['cortex/error'];

/** Makes the stream of the records full, or lets it take more again. */
async function limit(edge: EdgeFixture, max_msgs: number): Promise<void> {
  const bus = await edge.nats.busAs('provision');
  const { config } = (await bus.request(`$JS.API.STREAM.INFO.${CALLS_STREAM}`, '', { timeoutMs: 5_000 })).json<{
    config: object;
  }>();
  const changed = JSON.stringify({ ...config, max_msgs, discard: 'new' });
  const reply = (await bus.request(`$JS.API.STREAM.UPDATE.${CALLS_STREAM}`, changed, { timeoutMs: 5_000 })).json<{
    error?: object;
  }>();
  expect(reply.error).toBeUndefined();
  await bus.close();
}

describe('no answer without its record', () => {
  it('a full stream refuses calls before they run, until records are taken again', async () => {
    await using edge = await startEdge();
    edge.edge.records.keepTryingMs = 2_000;
    await edge.call('sample_echo', { text: 'before' });
    const full = (await edge.records()).length;
    await limit(edge, full);

    // The first call finds out: it ran, and the answer says that its record is missing.
    const first = edge.call('sample_echo', { text: 'found out' });
    await eventually(async () => (await fetch(`${edge.origin}/ready`)).status === 503);
    const before = ran('sample_echo');
    const refused = await edge.call('sample_echo', { text: 'refused' });
    expect(fault(refused)).toMatchObject({
      kind: 'unavailable',
      retryable: true,
      message: expect.stringContaining('nothing was run'),
    });
    expect(ran('sample_echo')).toBe(before);
    expect((await edge.ask('tools/list')).status).toBe(200);
    expect(fault(await first)).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/record of call [0-9a-f-]+ could not be stored; the call may have run/),
    });

    await limit(edge, -1);
    await eventually(async () => (await fetch(`${edge.origin}/ready`)).status === 200, 10_000);
    expect((await edge.call('sample_echo', { text: 'after' })).body.result.structuredContent).toEqual({
      text: 'after',
    });
  });

  it('a record that was not taken at first is stored while the call waits, and then answered', async () => {
    await using edge = await startEdge();
    await edge.call('sample_echo', { text: 'before' });
    await limit(edge, (await edge.records()).length);
    const call = edge.call('sample_echo', { text: 'in time' });
    await eventually(async () => (await fetch(`${edge.origin}/ready`)).status === 503);
    await limit(edge, -1);
    expect((await call).body.result.structuredContent).toEqual({ text: 'in time' });
    const stored = (await edge.records()).filter(
      (record) => record.type === 'ToolCallFinished' && record.tool === 'sample_echo',
    );
    expect(stored).toHaveLength(2);
  });

  it('nats-server killed under load: what was answered is on record, the rest says unavailable, and it comes back by itself', async () => {
    await using edge = await startEdge();
    edge.edge.records.keepTryingMs = 2_000;
    const answered: string[] = [];
    const refused: string[] = [];
    const wrong: string[] = [];
    let stop = false;
    const worker = async (w: number) => {
      for (let i = 0; !stop; i++) {
        const text = `w${w}-${i}`;
        const answer = await edge.call('sample_echo', { text });
        if (answer.body?.result?.structuredContent?.text === text) answered.push(text);
        else if (fault(answer)?.kind === 'unavailable') refused.push(text);
        else wrong.push(answer.text);
        if (refused.length > 0 && answered.length === 0) await new Promise((r) => setTimeout(r, 5));
      }
    };
    const workers = Array.from({ length: 8 }, (_, w) => worker(w));
    await eventually(() => answered.length > 50, 15_000);
    await edge.nats.kill();
    await eventually(() => refused.length > 20, 15_000);
    expect((await fetch(`${edge.origin}/ready`)).status).toBe(503);
    const quick = await edge.call('sample_echo', { text: 'while away' });
    expect(fault(quick)).toMatchObject({ kind: 'unavailable', retryable: true });
    await edge.nats.restart();
    const before = answered.length;
    await eventually(() => answered.length > before + 50, 20_000);
    stop = true;
    await Promise.all(workers);
    expect(wrong).toEqual([]);
    const finished = (await edge.records()).filter(
      (record): record is CallFinished => record.type === 'ToolCallFinished' && record.outcome === 'succeeded',
    );
    // Every answer has its record; a record whose acknowledgement was lost may have no answer.
    expect(new Set(finished.map(({ call_id }) => call_id)).size).toBeGreaterThanOrEqual(answered.length);
  });
});
