import { COMMIT_HEADER } from '@cortex/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { startService, type RunningService } from '../start-service.js';
import { counterGet, counterIncrement, counterService } from './counter.service.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(counterService);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

/** Writes to the log past the event store, as another release of the service would. */
async function writeCommit(counter: string, event: { type: string; version: number; data: unknown }, after: number) {
  const bus = await app.nats.busAs('ticket');
  const commit = { commit_id: `${counter}-x`, at: new Date().toISOString(), actor: { kind: 'system', id: 'x' } };
  const body = { ...commit, workspace: 'w1', correlation_id: 'c', causation_id: 'c', events: [event] };
  return bus.publishAcked(`cortex.evt.ticket.w1.counter.${counter}`, JSON.stringify(body), {
    expectLastSubjectSeq: after,
    headers: { [COMMIT_HEADER]: commit.commit_id },
  });
}

describe('the sample service', () => {
  it('is seen by the next read of the same caller', async () => {
    expect(await app.call(counterIncrement, { counter_id: 'c1', by: 2 })).toEqual({ counter_id: 'c1', total: 2 });
    expect(await app.call(counterIncrement, { counter_id: 'c1' })).toEqual({ counter_id: 'c1', total: 3 });
    expect(await app.call(counterGet, { counter_id: 'c1' })).toEqual({ total: 3, commits: 2 });
  });

  it('shows a workspace nothing of another', async () => {
    await app.call(counterIncrement, { counter_id: 'mine' });
    expect(await app.call(counterGet, { counter_id: 'mine' }, { workspace: 'w2' })).toEqual({ total: 0, commits: 0 });
  });

  it('counts each of a hundred increments that come at once to two instances, and none twice', async () => {
    await using other = await startService(counterService, { nats: app.nats, postgres: app.postgres });
    const calls = Array.from({ length: 100 }, () =>
      app.call(counterIncrement, { counter_id: 'race' }, { deadlineMs: 20_000 }),
    );
    const answered = await Promise.allSettled(calls);
    const done = answered.filter(({ status }) => status === 'fulfilled').length;
    for (const one of answered) if (one.status === 'rejected') expect(one.reason).toMatchObject({ kind: 'conflict' });
    expect(await app.call(counterGet, { counter_id: 'race' })).toEqual({ total: done, commits: done });
    expect(other.host.definition.name).toBe('ticket');
  });

  it('reads an event of an old version as it was meant', async () => {
    await writeCommit('old', { type: 'CounterOpened', version: 1, data: { label: '' } }, 0);
    expect(await app.call(counterIncrement, { counter_id: 'old' })).toMatchObject({ total: 1 });
  });

  it('refuses to decide on what a newer release wrote, and its views go on', async () => {
    await app.call(counterIncrement, { counter_id: 'new' });
    const { seq } = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.new').then((m) => m!);
    await writeCommit('new', { type: 'CounterRenamed', version: 1, data: {} }, seq);
    await expect(app.call(counterIncrement, { counter_id: 'new' })).rejects.toMatchObject({
      kind: 'failed_precondition',
    });
    expect(await app.call(counterIncrement, { counter_id: 'other' })).toMatchObject({ total: 1 });
    expect(await app.call(counterGet, { counter_id: 'other' })).toMatchObject({ total: 1 });
  });

  it('loses nothing and counts nothing twice when nats-server is killed under it', async () => {
    const answers: number[] = [];
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; i < 25; i++) {
        const options = { key: `kill-${worker}-${i}`, deadlineMs: 5_000 };
        // As the edge's client does: the same key until there is an answer.
        const { total } = await eventually(
          () => app.call(counterIncrement, { counter_id: `k${worker}` }, options),
          20_000,
        );
        answers.push(total);
      }
    });
    await eventually(() => answers.length > 20);
    await app.nats.kill();
    await app.nats.restart();
    await Promise.all(work);
    for (let worker = 0; worker < 8; worker++) {
      await eventually(async () => {
        expect(await app.call(counterGet, { counter_id: `k${worker}` })).toEqual({ total: 25, commits: 25 });
      }, 10_000);
    }
  });
});
