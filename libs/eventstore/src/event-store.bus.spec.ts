import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { CALLS_STREAM, COMMIT_HEADER, EVENTS_STREAM, subjects, type CommitEnvelope } from '@cortex/contracts';
import { eventually, natsFixture, postgresFixture, type NatsFixture, type PostgresFixture } from '@cortex/testing';
import { counter, type CounterCommand, type CounterEvent } from '@cortex/testing/sample/counter.decider';
import { counterMigrations } from '@cortex/testing/sample/counters.projection';
import { defineDecider } from './decider.js';
import { EventStore, type CommitContext } from './event-store.js';
import { postgresSnapshots, type SnapshotStore } from './snapshots.js';

let nats: NatsFixture;
let bus: Bus;
let store: EventStore;

let commits = 0;
const ctx = (more: Partial<CommitContext> = {}): CommitContext => ({
  commitId: `c${++commits}`,
  at: '2026-01-01T00:00:00.000Z',
  actor: { kind: 'user', id: 'per_1' },
  correlation_id: 'x',
  causation_id: 'x',
  ...more,
});
const increment = (by = 1): CounterCommand => ({ type: 'IncrementCounter', by });
const add = (id: string, by = 1, more?: Partial<CommitContext>, with_ = store) =>
  with_.execute(counter, 'ws', id, increment(by), ctx(more));
const total = async (id: string, with_ = store) => {
  const { state } = await with_.load(counter, 'ws', id);
  return state.status === 'none' ? 0 : state.total;
};
const put = (id: string, envelope: object, headers: Record<string, string> = { [COMMIT_HEADER]: 'raw' }) =>
  bus.publishAcked(`cortex.evt.ticket.ws.counter.${id}`, JSON.stringify(envelope), { headers });
const envelope = (events: CommitEnvelope['events'], more: object = {}) => ({
  commit_id: 'raw',
  at: 'x',
  actor: { kind: 'user', id: 'x' },
  workspace: 'ws',
  correlation_id: 'x',
  causation_id: 'x',
  events,
  ...more,
});
/** The bus of a process that asks another replica, which answers some questions in its own way. */
const withDirect = (answers: Partial<Bus['direct']>): Bus =>
  new Proxy(bus, {
    get: (target, key) => {
      if (key === 'direct') return { ...bus.direct, ...answers };
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

beforeAll(async () => {
  nats = await natsFixture();
  bus = await nats.busAs('ticket');
  store = new EventStore({ bus });
});
afterAll(async () => {
  await nats[Symbol.asyncDispose]();
});

describe('a command', () => {
  it('is one commit with all its events, under the id and the meta of its context', async () => {
    const { seq, events, duplicate } = await add('one', 3, { commitId: 'first', session_id: 's1' });
    expect({ duplicate, types: events.map(({ type, version }) => `${type}.${version}`) }).toEqual({
      duplicate: false,
      types: ['CounterOpened.1', 'CounterIncremented.2'],
    });
    const stored = await bus.direct.last(EVENTS_STREAM, 'cortex.evt.ticket.ws.counter.one');
    expect(stored?.seq).toBe(seq);
    expect(stored?.headers?.get('Nats-Msg-Id')).toBe('first');
    expect(stored?.headers?.get(COMMIT_HEADER)).toBe('first');
    expect(JSON.parse(Buffer.from(stored?.data ?? []).toString())).toMatchObject({
      commit_id: 'first',
      workspace: 'ws',
      session_id: 's1',
      actor: { kind: 'user', id: 'per_1' },
    });
  });

  it('is decided on every commit, also when a replica that lags knows nothing of those in between', async () => {
    for (let n = 0; n < 3; n++) await add('behind');
    const lagging = withDirect({ next: () => Promise.resolve(null) });
    expect(await total('behind', new EventStore({ bus: lagging }))).toBe(3);
  });

  it('is read, refused and found to bring nothing new by what the leader has, when a replica that lags knows nothing of it', async () => {
    const lagging = new EventStore({ bus: withDirect({ last: () => Promise.resolve(null) }) });
    const close = { type: 'CloseCounter' as const };
    const { seq } = await add('unseen', 1, {}, lagging);
    expect(await total('unseen', lagging)).toBe(1);
    // Written by another process, so nothing of it is remembered.
    const closed = await store.execute(counter, 'ws', 'unseen', close, ctx());
    expect(closed.seq).toBeGreaterThan(seq);
    const other = new EventStore({ bus: withDirect({ last: () => Promise.resolve(null) }) });
    expect(await other.execute(counter, 'ws', 'unseen', close, ctx())).toMatchObject({ seq: closed.seq, events: [] });
    await expect(
      other.execute(counter, 'ws', 'unseen', { type: 'OpenCounter', label: 'x' }, ctx()),
    ).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('that has nothing new to record sends nothing', async () => {
    const { seq } = await add('done');
    const closed = await store.execute(counter, 'ws', 'done', { type: 'CloseCounter' }, ctx());
    expect(closed.seq).toBeGreaterThan(seq);
    const again = await store.execute(counter, 'ws', 'done', { type: 'CloseCounter' }, ctx());
    expect(again).toEqual({ seq: closed.seq, events: [], duplicate: false });
  });

  it('that has nothing new gives its first answer again when that was lost, whatever the window of the broker', async () => {
    await add('lost');
    const close = { type: 'CloseCounter' as const };
    const first = await store.execute(counter, 'ws', 'lost', close, ctx({ commitId: 'lost-close' }));
    for (const again of [store, new EventStore({ bus })]) {
      const repeat = await again.execute(counter, 'ws', 'lost', close, ctx({ commitId: 'lost-close' }));
      expect(repeat).toEqual({ ...first, duplicate: true });
    }
  });

  it('that is refused stays refused for the very commit that made it so', async () => {
    const open = () =>
      store.execute(counter, 'ws', 'taken', { type: 'OpenCounter', label: 'x' }, ctx({ commitId: 'taken-open' }));
    await open();
    await expect(open()).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('is refused by the rules on the state that the log has, not on one that this process remembers', async () => {
    const other = new EventStore({ bus });
    await add('stale');
    await other.execute(counter, 'ws', 'stale', { type: 'CloseCounter' }, ctx());
    await expect(add('stale')).rejects.toMatchObject({ kind: 'failed_precondition' });
  });

  it('T84 with an id or workspace that is no token is refused before a subject is built', async () => {
    for (const bad of ['a.b', '*', '>', 'a b', 'a\r\nPUB x', '', 'é', 'a'.repeat(65)]) {
      await expect(add(bad)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'id' });
      await expect(store.execute(counter, bad, 'x', increment(), ctx())).rejects.toMatchObject({
        field: 'workspace_id',
      });
      await expect(store.load(counter, 'ws', bad)).rejects.toMatchObject({ kind: 'invalid_argument' });
    }
  });

  it('P85 larger than the server takes is refused before it is sent', async () => {
    const text = { type: 'OpenCounter', label: 'x '.repeat(600_000) } as const;
    const big = defineDecider<typeof text, { type: 'Written'; data: { text: string } }, object>({
      subject: 'ticket.document',
      initial: {},
      decide: ({ label }) => [{ type: 'Written', data: { text: label } }],
      evolve: (state) => state,
    });
    await expect(store.execute(big, 'ws', 'big', text, ctx())).rejects.toMatchObject({
      kind: 'invalid_argument',
      reason: 'too_large',
    });
    expect(bus.up).toBe(true);
  });

  it('is refused while the stream is full, as unavailable with the code of the server', async () => {
    const admin = await nats.busAs('provision');
    const update = async (max_msgs: number) => {
      const info = await admin.request(`$JS.API.STREAM.INFO.${EVENTS_STREAM}`, '', { timeoutMs: 2000 });
      const { config } = info.json<{ config: object }>();
      const body = JSON.stringify({ ...config, max_msgs });
      await admin.request(`$JS.API.STREAM.UPDATE.${EVENTS_STREAM}`, body, { timeoutMs: 2000 });
    };
    await update(1);
    await expect(add('full')).rejects.toMatchObject({ kind: 'unavailable', details: { code: 10077 } });
    await update(-1);
    await add('full');
  });
});

describe('two writers', () => {
  it('on one aggregate from two processes both count, each once', async () => {
    const other = new EventStore({ bus: await nats.busAs('ticket') });
    await Promise.all(Array.from({ length: 20 }, () => Promise.all([add('race'), add('race', 1, {}, other)])));
    expect(await total('race')).toBe(40);
    expect(await total('race', other)).toBe(40);
  });

  it('that lose the race again and again get a conflict', async () => {
    const hostile = defineDecider<CounterCommand, CounterEvent, object>({
      subject: 'ticket.counter',
      initial: {},
      decide: () => [{ type: 'CounterIncremented', data: { by: 1 } }],
      evolve: (state) => state,
    });
    // Somebody else writes between every load and commit.
    const meddled: Bus = Object.create(bus, {
      publishAcked: {
        value: async (...args: Parameters<Bus['publishAcked']>) => {
          await put('contended', envelope([]), {});
          return bus.publishAcked(...args);
        },
      },
    }) as Bus;
    const unlucky = new EventStore({ bus: meddled });
    await expect(unlucky.execute(hostile, 'ws', 'contended', increment(), ctx())).rejects.toMatchObject({
      kind: 'conflict',
      reason: 'revision_conflict',
    });
  });
});

describe('a commit id', () => {
  it('sent again gives the events of the first try, and no second effect', async () => {
    const first = await add('same', 2, { commitId: 'same-1' });
    const other = new EventStore({ bus });
    expect(await add('same', 5, { commitId: 'same-1' }, other)).toEqual({ ...first, duplicate: true });
    expect(await total('same', other)).toBe(2);
    expect(await total('same')).toBe(2);
  });

  it('of another aggregate is refused instead of being taken for recorded', async () => {
    await add('mine', 1, { commitId: 'shared' });
    await expect(add('yours', 1, { commitId: 'shared' })).rejects.toMatchObject({ reason: 'idempotency_mismatch' });
    expect(await total('yours')).toBe(0);
  });
});

describe('loading', () => {
  it('reads old versions of events through their upcasters', async () => {
    await put('old', envelope([{ type: 'CounterIncremented', version: 1, data: {} }]));
    expect(await total('old')).toBe(1);
  });

  it.each([
    ['a type', { type: 'CounterDoubled', version: 1, data: {} }],
    ['a version', { type: 'CounterIncremented', version: 3, data: { steps: [1] } }],
  ])('of %s that only a newer release knows lets readers go on, and refuses to decide', async (what, event) => {
    const id = what.replace(' ', '-');
    await add(id, 4);
    await put(id, envelope([event]));
    const fresh = new EventStore({ bus });
    expect(await fresh.load(counter, 'ws', id)).toMatchObject({ state: { total: 4 }, unknown: { type: event.type } });
    for (const writer of [fresh, store]) {
      await expect(add(id, 1, {}, writer)).rejects.toMatchObject({
        kind: 'failed_precondition',
        message: expect.stringContaining('newer release'),
      });
    }
  });

  it('T81 skips what is no commit of the subject, and goes on behind it', async () => {
    const told: unknown[] = [];
    const wary = new EventStore({ bus, log: (_level, message, fields) => told.push([message, fields?.['because']]) });
    await add('noisy', 1);
    const event = { type: 'CounterIncremented', version: 2, data: { by: 100 } };
    await put('noisy', { any: 'thing' });
    await put('noisy', envelope([event]), {});
    await put('noisy', envelope([event], { workspace: 'other' }));
    await put('noisy', envelope([event], { commit_id: 'another' }));
    await bus.publishAcked('cortex.evt.ticket.ws.counter.noisy', 'no json', { headers: { [COMMIT_HEADER]: 'raw' } });
    expect(await total('noisy', wary)).toBe(1);
    expect(told).toHaveLength(5);
    await add('noisy', 1);
    expect(await total('noisy')).toBe(2);
  });

  it('T81 a stored commit put back is refused by its expected sequence', async () => {
    await add('copied', 1, { commitId: 'copied-1' });
    const subject = subjects.event('ticket.counter', 'ws', 'copied');
    const stored = await bus.direct.last(EVENTS_STREAM, subject);
    const headers = Object.fromEntries([...(stored?.headers ?? [])].map(([name, [value]]) => [name, value ?? '']));
    delete headers['Nats-Msg-Id']; // as after the duplicate window
    await expect(bus.publishAcked(subject, stored?.data ?? '', { headers })).rejects.toMatchObject({
      kind: 'conflict',
    });
  });

  it('starts at a subject that was purged from nothing', async () => {
    await add('erased', 5);
    const admin = await nats.busAs('provision');
    const filter = JSON.stringify({ filter: 'cortex.evt.ticket.ws.counter.erased' });
    await admin.request(`$JS.API.STREAM.PURGE.${EVENTS_STREAM}`, filter, { timeoutMs: 2000 });
    expect(await total('erased')).toBe(0);
    await add('erased', 1);
    expect(await total('erased')).toBe(1);
  });

  it('keeps as many states in memory as it may, by number and by bytes', async () => {
    const few = new EventStore({ bus, cacheSize: 3 });
    for (const id of ['m1', 'm2', 'm3', 'm4', 'm5']) await add(id, 1, {}, few);
    expect(few.cached.entries).toBe(3);
    expect(await total('m1', few)).toBe(1);
    const small = new EventStore({ bus, cacheBytes: 1000 });
    for (const id of ['m1', 'm2', 'm3', 'm4', 'm5']) await add(id, 1, {}, small);
    expect(small.cached.entries).toBeGreaterThan(0);
    expect(small.cached.bytes).toBeLessThanOrEqual(1000);
  });
});

describe('a snapshot', () => {
  let database: PostgresFixture;
  let snapshots: SnapshotStore;
  const subject = 'cortex.evt.ticket.ws.counter.long';

  beforeAll(async () => {
    database = await postgresFixture([
      { name: 'ticket', tools: [], migrations: counterMigrations, stateTables: ['counters'] },
    ]);
    snapshots = postgresSnapshots(database.pool('ticket'));
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });

  it('is written after so many commits, and a load starts from it', async () => {
    const writer = new EventStore({ bus, snapshots });
    for (let n = 0; n < 12; n++) await add('long', 1, {}, writer);
    const snapshot = await eventually(async () => (await snapshots.get(subject)) ?? false);
    expect(snapshot).toMatchObject({ version: 1, state: { status: 'open', total: 10 } });
    let reads = 0;
    const counting: Bus = Object.create(bus, {
      direct: {
        value: {
          ...bus.direct,
          next: (...args: Parameters<Bus['direct']['next']>) => (reads++, bus.direct.next(...args)),
        },
      },
    }) as Bus;
    const reader = new EventStore({ bus: counting, snapshots });
    expect(await total('long', reader)).toBe(12);
    expect(reads).toBeLessThanOrEqual(2);
  });

  it('of another version, or later than the log, is not used', async () => {
    const last = await bus.direct.last(EVENTS_STREAM, subject);
    const pool = database.pool('ticket');
    await pool.query(`update snapshot set version = 2, state = '{"status":"open","total":1000}'`);
    expect(await total('long', new EventStore({ bus, snapshots }))).toBe(12);
    await pool.query(`update snapshot set version = 1, seq = $1`, [(last?.seq ?? 0) + 1000]);
    expect(await total('long', new EventStore({ bus, snapshots }))).toBe(12);
  });

  it('that cannot be read or written only makes loading longer', async () => {
    const broken: SnapshotStore = postgresSnapshots(database.pool('billing'));
    expect(await total('long', new EventStore({ bus, snapshots: broken }))).toBe(12);
    const writer = new EventStore({ bus, snapshots: broken });
    for (let n = 0; n < 12; n++) await add('long2', 1, {}, writer);
    expect(await total('long2', writer)).toBe(12);
  });
});

it('P82 a command sent again after the duplicate window has no second effect: the decider knows it, not the broker', async () => {
  const admin = await nats.busAs('provision');
  const api = async (verb: string, body: string) =>
    (await admin.request(`$JS.API.STREAM.${verb}.${EVENTS_STREAM}`, body, { timeoutMs: 2000 })).json<{
      config: object;
    }>();
  const { config } = await api('INFO', '');
  await api('UPDATE', JSON.stringify({ ...config, duplicate_window: 100e6 }));
  await add('late');
  const close = () => store.execute(counter, 'ws', 'late', { type: 'CloseCounter' }, ctx({ commitId: 'late-close' }));
  const first = await close();
  const again = () => bus.publishAcked('cortex.evt.ticket.ws.marker.late', 'x', { msgId: 'late-marker' });
  const { seq } = await again();
  await eventually(async () => (await again()).seq > seq);
  expect(await close()).toEqual({ ...first, duplicate: true });
  // Once somebody came in between, the decider alone knows.
  expect(await store.execute(counter, 'ws', 'late', { type: 'CloseCounter' }, ctx())).toMatchObject({
    seq: first.seq,
    events: [],
  });
  await api('UPDATE', JSON.stringify(config));
});

it('nothing of the tests above went into the stream of calls', async () => {
  const edge = await nats.busAs('provision');
  expect(await edge.direct.next(CALLS_STREAM, '>', 1)).toBeNull();
});
