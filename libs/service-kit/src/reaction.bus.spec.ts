import {
  counter,
  counterIncrement,
  counterService,
  counterVersions,
  eventually,
  startService,
  type CounterEvent,
  type RunningService,
} from '@cortex/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defineReactor } from './reaction.js';
import { BUS, defineService } from './service.js';

const deliveries: { id: string; delivery: number; made: string }[] = [];

/** Every increment of `source…` adds one to `mirror…`, and fails after the first time it did. */
const mirror = defineReactor<CounterEvent>({
  name: 'sample_mirror_v1',
  subject: 'cortex.evt.ticket.*.counter.*',
  ...counterVersions,
  on: {
    async CounterIncremented({ id }, ctx) {
      if (!id.startsWith('source')) return;
      await ctx.execute(counter, id.replace('source', 'mirror'), { type: 'IncrementCounter', by: 1 });
      deliveries.push({ id, delivery: ctx.delivery, made: ctx.newId('m') });
      expect(ctx.get(BUS)).toBeDefined();
      if (id === 'source-again' && ctx.delivery === 1) throw new Error('lost its way');
    },
  },
});

let app: RunningService;
beforeAll(async () => {
  app = await startService(defineService({ ...counterService, reactors: [mirror] }));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

const total = async (id: string) => {
  const { state } = await app.host.store.load(counter, 'w1', id);
  return state.status === 'none' ? 0 : state.total;
};

describe('a reactor', () => {
  it('commits in the workspace of the event and in the name of the reactor, the event being the cause', async () => {
    await app.call(counterIncrement, { counter_id: 'source-1' }, { call_id: 'call-1', scope: { session_id: 's1' } });
    const stored = await eventually(async () => {
      const message = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.mirror-1');
      return message ?? false;
    });
    const first = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.ticket.w1.counter.source-1');
    const { commit_id } = JSON.parse(Buffer.from(first!.data).toString()) as { commit_id: string };
    expect(JSON.parse(Buffer.from(stored.data).toString())).toMatchObject({
      actor: { kind: 'system', id: 'sample_mirror_v1' },
      workspace: 'w1',
      session_id: 's1',
      correlation_id: 'call-1',
      causation_id: commit_id,
    });
  });

  it('that failed after its commit is run again, with one effect and the same ids', async () => {
    await app.call(counterIncrement, { counter_id: 'source-again' });
    const tries = await eventually(() => {
      const mine = deliveries.filter(({ id }) => id === 'source-again');
      return mine.length === 2 && mine;
    }, 15_000);
    expect(tries.map(({ delivery }) => delivery)).toEqual([1, 2]);
    expect(tries[0]?.made).toBe(tries[1]?.made);
    expect(await total('mirror-again')).toBe(1);
  });
});
