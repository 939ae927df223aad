import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { headers, type Bus } from '@cortex/bus';
import { deadlineExceeded, unavailable } from '@cortex/contracts';
import { counters, eventually, natsFixture, type NatsFixture } from '@cortex/testing';
import { consumerState, Patience, Pull, unacknowledged, type Delivered } from './pull.js';

/** No test waits that long: what comes again was handed back. */
const ACK_WAIT_MS = 300_000;
const STREAM = 'CORTEX_EVENTS';
let nats: NatsFixture;
let bus: Bus;

beforeAll(async () => {
  nats = await natsFixture({
    services: [{ name: 'ticket', tools: [], projections: [counters] }],
    ackWaitMs: ACK_WAIT_MS,
  });
  bus = await nats.busAs('ticket');
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
});

const put = () => bus.publishAcked('cortex.evt.ticket.ws.counter.a', 'x');
const pullOf = () => new Pull({ bus, stream: STREAM, consumer: counters.name, batch: 500 });

describe('a pull', () => {
  it('takes at once all that has come, and what it hands back comes again at once', async () => {
    for (let n = 0; n < 3; n++) await put();
    const first = pullOf();
    const got = await first.next(2000);
    while (got.length < 3) got.push(...(await first.next(2000)));
    expect(got.map(({ deliverySeq, delivery }) => [deliverySeq, delivery])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
    first.close(got);
    const second = pullOf();
    // In any order, and under load one of them more than once: the server had tried it on the pull that is gone.
    const again = new Map<number, Delivered>();
    while (again.size < 3) for (const message of await second.next(5000)) again.set(message.seq, message);
    expect([...again.keys()].sort((a, b) => a - b)).toEqual(got.map(({ seq }) => seq));
    bus.publish(again.get(3)!.ack, '+ACK');
    second.close();
    await eventually(async () =>
      expect(await consumerState(bus, STREAM, counters.name)).toMatchObject({ num_ack_pending: 0 }),
    );
  });

  it('gives nothing when nothing comes in time, and ends a wait by its signal', async () => {
    const pull = pullOf();
    expect(await pull.next(50)).toEqual([]);
    const stop = new AbortController();
    const waiting = pull.next(10_000, stop.signal);
    stop.abort();
    expect(await waiting).toEqual([]);
    pull.close();
  });

  it('T81 takes no notice of what others put into its inbox, whatever its reply subject says', async () => {
    const inboxes: string[] = [];
    const listening = new Proxy(bus, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (key === 'subscribe') {
          return (...args: Parameters<Bus['subscribe']>) => (inboxes.push(args[0]), target.subscribe(...args));
        }
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const pull = new Pull({ bus: listening, stream: STREAM, consumer: counters.name, batch: 500 });
    const waiting = pull.next(5000);
    const forger = await nats.busAs('provision');
    // A sequence far ahead would make a checkpoint skip everything that follows.
    forger.publish(inboxes[0]!, 'forged', { reply: `$JS.ACK.${STREAM}.${counters.name}.1.999999.4.1.0` });
    forger.publish(inboxes[0]!, 'forged', { reply: `$JS.ACK.${STREAM}.other.1.999999.4.1.0` });
    forger.publish(inboxes[0]!, 'forged');
    const withHeaders = headers();
    withHeaders.set('Cortex-Commit', 'x');
    forger.publish(inboxes[0]!, 'forged', { headers: withHeaders });
    await forger.nc.flush();
    const { seq } = await put();
    expect((await waiting).map((message) => message.seq)).toEqual([seq]);
    pull.close();
  });

  it('is lost with the bus and without its consumer, instead of waiting for ever', async () => {
    const gone = new Pull({ bus, stream: STREAM, consumer: 'nobody_v1', batch: 500 });
    await expect(Promise.race([gone.next(8000), consumerState(bus, STREAM, 'nobody_v1')])).rejects.toMatchObject({
      kind: 'permission_denied',
    });
    gone.close();
    const pull = pullOf();
    const [lost] = await Promise.allSettled([pull.next(10_000), nats.kill()]);
    expect(String((lost as PromiseRejectedResult).reason)).toContain('the bus went away');
    pull.close();
    await expect(pullOf().next(10)).rejects.toThrow('the bus is away');
  });
});

describe('unacknowledged', () => {
  const at = (consumer_seq: number, stream_seq: number) => ({ consumer_seq, stream_seq });

  it('is what was given out and not acknowledged, and nothing once the last one was', () => {
    expect(unacknowledged({ delivered: at(5, 9), ack_floor: at(2, 4), num_ack_pending: 3 })).toBe(3);
    expect(unacknowledged({ delivered: at(5, 9), ack_floor: at(5, 9), num_ack_pending: 3 })).toBe(0);
    // What the filter passed over since counts as given out.
    expect(unacknowledged({ delivered: at(5, 11), ack_floor: at(5, 9), num_ack_pending: 3 })).toBe(0);
  });
});

describe('patience', () => {
  it('is twice as long after each answer that did not come, up to a minute, and as short as before after one that came', async () => {
    const patience = new Patience();
    const asked: number[] = [];
    const ask = (error?: Error) =>
      patience.ask((ms) => {
        asked.push(ms);
        return error ? Promise.reject(error) : Promise.resolve();
      });
    for (let n = 0; n < 7; n++) await expect(ask(deadlineExceeded('bus', 'is late', 'wait'))).rejects.toThrow('late');
    await expect(ask(unavailable('bus', 'is away', 'wait'))).rejects.toThrow('away');
    await ask();
    await ask();
    expect(asked).toEqual([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000, 2000]);
  });
});
