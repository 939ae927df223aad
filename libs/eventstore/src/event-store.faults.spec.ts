import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EVENTS_STREAM, isCortexError, type CommitEnvelope } from '@cortex/contracts';
import { eventually, natsFixture, type NatsFixture } from '@cortex/testing';
import { counter } from '@cortex/testing/sample/counter.decider';
import { defineDecider } from './decider.js';
import { EventStore, type CommitContext } from './event-store.js';

let nats: NatsFixture;
beforeEach(async () => {
  nats = await natsFixture();
});
afterEach(async () => {
  await nats[Symbol.asyncDispose]();
});
const ctx = (commitId: string): CommitContext => ({
  commitId,
  at: '2026-01-01T00:00:00.000Z',
  actor: { kind: 'system', id: 'test' },
  correlation_id: 'x',
  causation_id: 'x',
});

describe('a nats-server killed under commands', () => {
  it('loses none that was answered, and records none twice that was sent again under its id', async () => {
    const stores = await Promise.all(
      [1, 2].map(async () => {
        const bus = await nats.busAs('ticket');
        return { bus, store: new EventStore({ bus }) };
      }),
    );
    let answered = 0;
    let stop = false;
    const work = stores.flatMap(({ bus, store }, s) =>
      Array.from({ length: 4 }, async (_, w) => {
        for (let i = 0; !stop; i++) {
          const id = `${s}-${w}-${i}`;
          for (let done = false; !done;) {
            try {
              await store.execute(counter, 'ws', `c${w}`, { type: 'IncrementCounter', by: 1 }, ctx(id));
              done = true;
            } catch (error) {
              if (!isCortexError(error) || !['unavailable', 'conflict', 'deadline_exceeded'].includes(error.kind))
                throw error;
              await eventually(() => bus.up, 10_000);
            }
          }
          answered++;
        }
      }),
    );
    const all = Promise.all(work);
    for (let time = 0; time < 2; time++) {
      const before = answered;
      await eventually(() => answered > before + 100, 15_000);
      await nats.kill();
      await nats.restart();
    }
    const before = answered;
    await eventually(() => answered > before + 100, 15_000);
    stop = true;
    await all;
    const fresh = new EventStore({ bus: stores[0]!.bus });
    let total = 0;
    for (let w = 0; w < 4; w++) {
      const { state } = await fresh.load(counter, 'ws', `c${w}`);
      total += state.status === 'open' ? state.total : 0;
    }
    expect(total).toBe(answered);
  });

  it('fails a command at once while it is away, and says that nothing was changed', async () => {
    const bus = await nats.busAs('ticket');
    const store = new EventStore({ bus });
    await store.execute(counter, 'ws', 'c', { type: 'IncrementCounter', by: 1 }, ctx('1'));
    await nats.kill();
    await eventually(() => !bus.up);
    const command = () => store.execute(counter, 'ws', 'c', { type: 'IncrementCounter', by: 1 }, ctx('2'));
    await expect(command()).rejects.toMatchObject({ kind: 'unavailable', details: { outcome: 'not_sent' } });
    await nats.restart();
    await eventually(command);
    expect(await store.load(counter, 'ws', 'c')).toMatchObject({ state: { total: 2 } });
  });
});

it('T89 canary secrets in the descriptive fields of an event are not in the stream', async () => {
  const canary = 'canary0815secret';
  type Said = { type: 'Said'; data: Record<string, unknown> };
  const sayer = defineDecider<Said['data'], Said, object>({
    subject: 'ticket.saying',
    initial: {},
    decide: (data) => [{ type: 'Said', data }],
    evolve: (state) => state,
    descriptive: ['note'],
  });
  const bus = await nats.busAs('ticket');
  const store = new EventStore({ bus });
  const text = `run --password ${canary} https://me:${canary}@example.com/?token=${canary}`;
  const data = {
    target: text,
    description: text,
    label: text,
    error: { message: text },
    reason: text,
    title: text,
    argv: ['x', '--token', canary],
    url: `https://${canary}@example.com`,
    headers: { authorization: `Bearer ${canary}`, cookie: canary },
    note: text,
  };
  const { events } = await store.execute(sayer, 'ws', 'one', data, ctx('one'));
  expect(JSON.stringify(events)).not.toContain(canary);
  const stored = await bus.direct.last(EVENTS_STREAM, 'cortex.evt.ticket.ws.saying.one');
  const body = Buffer.from(stored?.data ?? []).toString();
  expect(body).not.toContain(canary);
  expect((JSON.parse(body) as CommitEnvelope).events[0]?.data).toMatchObject({
    note: expect.stringContaining('[redacted:'),
  });
});

describe('a store that was damaged', () => {
  const log = defineDecider<
    { type: 'Write'; text: string },
    { type: 'TextWritten'; data: { text: string } },
    readonly string[]
  >({
    subject: 'ticket.texts',
    initial: [],
    decide: ({ text }) => [{ type: 'TextWritten', data: { text } }],
    evolve: (state, { data, gap }) => [...state, gap ? `(something is gone) ${data.text}` : data.text],
  });

  it('has lost commits without a word of the server; a decider is told where', async () => {
    const bus = await nats.busAs('ticket');
    const store = new EventStore({ bus });
    for (const text of ['one', 'two', 'drop', 'four', 'five'])
      await store.execute(log, 'ws', 'a', { type: 'Write', text }, ctx(text));
    await store.execute(log, 'ws', 'b', { type: 'Write', text: 'drop' }, ctx('b'));
    await store.execute(log, 'ws', 'b', { type: 'Write', text: 'other' }, ctx('b2'));
    expect(await nats.damage(EVENTS_STREAM, '"text":"drop"', '"text":"drip"')).toBe(2);
    await eventually(() => bus.up, 10_000);
    const again = new EventStore({ bus });
    expect((await again.load(log, 'ws', 'a')).state).toEqual(['one', 'two', '(something is gone) four', 'five']);
    expect((await again.load(log, 'ws', 'b')).state).toEqual(['(something is gone) other']);
    await again.execute(log, 'ws', 'a', { type: 'Write', text: 'six' }, ctx('six'));
    expect((await again.load(log, 'ws', 'a')).state.at(-1)).toBe('six');
  });
});
