import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { counter, eventually, natsFixture, type CounterEvent, type NatsFixture } from '@cortex/testing';
import { EventStore } from './event-store.js';
import { consumerState } from './pull.js';
import { defineReactor, type Reactor } from './reactor.js';
import { ReactorRunner } from './reactor-runner.js';

type Handler = NonNullable<Reactor<CounterEvent>['on']['CounterIncremented']>;

let handler: Handler = () => Promise.resolve();
const reactor = defineReactor<CounterEvent>({
  name: 'sample_reactor_v1',
  subject: 'cortex.evt.ticket.*.counter.*',
  from: 'start',
  version: { CounterIncremented: 2 },
  upcast: { CounterIncremented: { 1: () => ({ by: 1 }) } },
  on: { CounterIncremented: (event, ctx) => handler(event, ctx) },
});

let nats: NatsFixture;
let bus: Bus;
let store: EventStore;
/** Of these tests, in which it is waited for. */
const ACK_WAIT_MS = 1_000;
const runners: ReactorRunner[] = [];
let n = 0;
const add = (id: string, by = 1) =>
  store.execute(
    counter,
    'ws',
    id,
    { type: 'IncrementCounter', by },
    {
      commitId: `c${++n}`,
      at: '2026-01-01T00:00:00.000Z',
      actor: { kind: 'system', id: 'test' },
      correlation_id: 'x',
      causation_id: 'x',
    },
  );
const run = (on = bus): ReactorRunner => {
  const runner = new ReactorRunner({ bus: on, reactors: [reactor], ackWaitMs: ACK_WAIT_MS });
  runners.push(runner);
  runner.start();
  return runner;
};
const settled = (limit = 5000) =>
  eventually(
    async () =>
      expect(await consumerState(bus, 'CORTEX_EVENTS', reactor.name)).toMatchObject({
        num_pending: 0,
        num_ack_pending: 0,
      }),
    limit,
  );

beforeEach(async () => {
  nats = await natsFixture({ services: [{ name: 'ticket', tools: [], reactors: [reactor] }], ackWaitMs: ACK_WAIT_MS });
  bus = await nats.busAs('ticket');
  store = new EventStore({ bus });
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await nats[Symbol.asyncDispose]();
});

describe('a reactor', () => {
  it('gets every event once over two instances, those of one aggregate in order', async () => {
    const seen: string[] = [];
    handler = async ({ id, data }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
      seen.push(`${id}${data.by}`);
    };
    run();
    for (let by = 1; by <= 10; by++) for (const id of ['a', 'b', 'c']) await add(id, by);
    await settled();
    expect(new Set(seen).size).toBe(30);
    for (const id of ['a', 'b', 'c']) {
      const numbers = seen.filter((one) => one.startsWith(id)).map((one) => Number(one.slice(1)));
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }
    run(await nats.busAs('ticket'));
    for (const id of ['a', 'b', 'c']) await add(id, 11);
    await settled();
    expect(seen).toHaveLength(33);
  });

  it('that throws gets the same commit again, and what comes after it does not wait', async () => {
    const calls: [string, number, string][] = [];
    handler = ({ id, commit_id }, { delivery }) => {
      calls.push([id, delivery, commit_id]);
      return id === 'bad' && delivery === 1 ? Promise.reject(new Error('try later')) : Promise.resolve();
    };
    const runner = run();
    await add('bad');
    await add('good');
    await settled();
    expect(calls.map(([id, delivery]) => `${id} ${delivery}`)).toEqual(['bad 1', 'good 1', 'bad 2']);
    expect(calls[0]?.[2]).toBe(calls[2]?.[2]);
    expect(await runner.lag()).toMatchObject([{ failed: 1, pending: 0 }]);
  });

  it('P80 that works longer than the wait for an acknowledgement is not disturbed', async () => {
    const deliveries: number[] = [];
    // Three in every wait: more than two of them pass.
    let beats = 0;
    handler = async (_event, { delivery }) => {
      deliveries.push(delivery);
      await eventually(() => beats > 6);
    };
    const spy = await nats.busAs('provision');
    spy.subscribe(`$JS.ACK.CORTEX_EVENTS.${reactor.name}.>`, (message) => {
      if (message.string() === '+WPI') beats++;
    });
    run();
    await add('slow');
    await eventually(() => deliveries.length === 1);
    await settled();
    expect(deliveries).toEqual([1]);
  });

  it('P80 P81 whose instance is killed gets the commit on another one after a short wait', async () => {
    const seen: [string, number][] = [];
    handler = ({ commit_id }, { delivery }) => {
      seen.push([commit_id, delivery]);
      return Promise.resolve();
    };
    const { events } = await add('x');
    const dead = await nats.busAs('ticket');
    const inbox = '_INBOX_ticket.dead';
    let late = '';
    dead.subscribe(inbox, (message) => (late = message.reply ?? ''));
    dead.publish(`$JS.API.CONSUMER.MSG.NEXT.CORTEX_EVENTS.${reactor.name}`, '{"batch":1}', { reply: inbox });
    await eventually(() => late !== '');
    run();
    await eventually(() => seen.length === 1, ACK_WAIT_MS + 5_000);
    expect(seen).toEqual([[`c${n}`, 2]]);
    expect(events).toHaveLength(2);
    // The late acknowledgement of the first delivery changes nothing.
    dead.publish(late, '+ACK');
    await settled();
    expect(seen).toHaveLength(1);
  });

  it('T81 skips what is no commit, and counts it', async () => {
    let got = 0;
    handler = () => Promise.resolve(got++);
    const runner = run();
    await bus.publishAcked('cortex.evt.ticket.ws.counter.x', 'garbage');
    await add('y');
    await settled();
    expect(got).toBe(1);
    expect(await runner.lag()).toMatchObject([{ skipped: 1 }]);
  });

  it('goes on after its nats-server was killed and came back', async () => {
    const seen = new Set<string>();
    handler = ({ commit_id }) => Promise.resolve(seen.add(commit_id));
    run();
    await add('x');
    await eventually(() => seen.size === 1);
    await nats.kill();
    await nats.restart();
    await eventually(() => bus.up);
    store = new EventStore({ bus });
    await eventually(() => add('x'));
    await eventually(() => seen.has(`c${n}`), 20_000);
  });

  it('that is stopped lets its handlers end, then aborts them', async () => {
    const ended: string[] = [];
    handler = ({ id }, { signal }) =>
      new Promise((resolve) => {
        const end = (how: string) => {
          ended.push(`${id} ${how}`);
          resolve(undefined);
        };
        if (id === 'short') setTimeout(() => end('finished'), 300);
        else signal.addEventListener('abort', () => end('aborted'));
      });
    const runner = run();
    await add('short');
    await add('long');
    await eventually(async () =>
      expect(await consumerState(bus, 'CORTEX_EVENTS', reactor.name)).toMatchObject({ num_ack_pending: 2 }),
    );
    await runner.stop(600);
    expect(ended).toEqual(['short finished', 'long aborted']);
  });
});
