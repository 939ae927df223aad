import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { isCortexError, type BusRequest, type BusUser } from '@cortex/contracts';
import { startNats } from '@cortex/embedded';
import { eventually } from '@cortex/testing/eventually';
import { headers } from '@nats-io/transport-node';
import { ask, answer, readRequest } from './ask.js';
import type { Bus, KvEntry } from './bus.js';
import { connectBus } from './connect.js';
import { MAX_WAITING } from './mux.js';

let dir: string;
let server: Awaited<ReturnType<typeof startNats>>;
let port = 0;
const open: Bus[] = [];

const start = async () => {
  server = await startNats({ dir, port });
  port = server.port;
};
const busOf = async (service: BusUser = 'ticket', url = server.url): Promise<Bus> => {
  const bus = await connectBus({ servers: url, service });
  open.push(bus);
  return bus;
};
const stream = async (bus: Bus, name: string, config: object): Promise<void> => {
  const body = JSON.stringify({ name, storage: 'file', allow_direct: true, ...config });
  const reply = await bus.request(`$JS.API.STREAM.CREATE.${name}`, body, { timeoutMs: 5000 });
  expect(reply.json()).not.toHaveProperty('error');
};
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => Promise.reject(new Error(`resolved with ${String(value)}`)),
    (error: unknown) => error,
  );
const request: BusRequest = {
  v: 1,
  call_id: 'c1',
  workspace_id: null,
  principal: { type: 'system', id: 'x', roles: [] },
  scope: {},
  args: {},
  deadline_ms: 2000,
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cortex-bus-'));
  await start();
  const bus = await busOf();
  await stream(bus, 'T', { subjects: ['t.>'], duplicate_window: 120e9 });
  await stream(bus, 'FULL', { subjects: ['full.>'], max_msgs: 1, discard: 'new' });
  await stream(bus, 'KV_b', { subjects: ['$KV.b.>'], max_msgs_per_subject: 1 });
  await stream(bus, 'cortex_blobs', { subjects: ['cortex.blob.>'] });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((bus) => bus.close()));
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

describe('a request', () => {
  it('is answered over one inbox below the prefix of its user', async () => {
    const [a, b] = [await busOf('mcp-edge'), await busOf('ticket')];
    const replies: (string | undefined)[] = [];
    b.subscribe('echo', (m) => {
      replies.push(m.reply);
      m.respond(`${m.string()}!`);
    });
    await b.nc.flush();
    const answers = await Promise.all(['x', 'y', 'z'].map((text) => a.request('echo', text, { timeoutMs: 2000 })));
    expect(answers.map((m) => m.string())).toEqual(['x!', 'y!', 'z!']);
    const inboxes = new Set(replies.map((reply) => reply?.split('.').slice(0, -1).join('.')));
    expect([...inboxes]).toEqual([expect.stringMatching(/^_INBOX_mcp-edge\./)]);
    expect(a.waiting).toBe(0);
  });

  it('without a responder fails at once and says that nothing was changed', async () => {
    const bus = await busOf();
    await expect(bus.request('nobody', '', { timeoutMs: 5000 })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('nothing was changed'),
    });
  });

  it('ends at its deadline, and its late answer does nothing', async () => {
    const bus = await busOf();
    let late: (() => void) | undefined;
    bus.subscribe('slow', (m) => (late = () => m.respond('late')));
    await expect(bus.request('slow', '', { timeoutMs: 100 })).rejects.toMatchObject({ kind: 'deadline_exceeded' });
    late?.();
    await bus.nc.flush();
    expect(bus.waiting).toBe(0);
  });

  it('T81 is answered once, and by nobody who guesses: second, foreign and made-up answers do nothing', async () => {
    const [a, b] = [await busOf('mcp-edge'), await busOf('ticket')];
    const replies: string[] = [];
    b.subscribe('guess', (m) => {
      replies.push(m.reply ?? '');
      if (replies.length < 2) return;
      const [first = '', second = ''] = replies;
      const inbox = first.slice(0, first.lastIndexOf('.') + 1);
      // The tokens count up, but knowing one does not give its neighbours.
      for (const token of ['0', '1', '2', '2-000000000000', '']) b.publish(`${inbox}${token}x`, 'forged');
      b.publish(second, 'real 2');
      b.publish(first, 'real 1');
      b.publish(first, 'again');
    });
    await b.nc.flush();
    const calls = [1, 2].map((n) => a.request('guess', String(n), { timeoutMs: 2000 }));
    expect((await Promise.all(calls)).map((m) => m.string())).toEqual(['real 1', 'real 2']);
    await b.nc.flush();
    expect(a.waiting).toBe(0);
    expect(a.up).toBe(true);
  });

  it('T81 is not made by a stored message that a read of it puts on a foreign subject', async () => {
    const bus = await busOf();
    const heard: string[] = [];
    bus.subscribe('live.topic', (message) => heard.push(message.string()));
    await bus.publishAcked('t.forged', 'forged');
    bus.publish('$JS.API.DIRECT.GET.T.t.forged', '', { reply: 'live.topic' });
    await bus.direct.last('T', 't.forged');
    bus.publish('live.topic', 'told');
    await eventually(() => heard.includes('told'));
    expect(heard).toEqual(['told']);
  });

  it('ends when its signal aborts, before or after it was sent', async () => {
    const bus = await busOf();
    bus.subscribe('mute', () => {});
    await bus.nc.flush();
    const stop = new AbortController();
    const call = failure(bus.request('mute', '', { timeoutMs: 5000, signal: stop.signal }));
    setImmediate(() => stop.abort());
    expect(await call).toMatchObject({ kind: 'cancelled' });
    expect(await failure(bus.request('mute', '', { timeoutMs: 5000, signal: AbortSignal.abort() }))).toMatchObject({
      kind: 'cancelled',
      message: expect.stringContaining('was not sent'),
    });
    expect(bus.waiting).toBe(0);
  });

  it(`is refused above ${MAX_WAITING} that wait`, async () => {
    const bus = await busOf();
    bus.subscribe('mute', () => {});
    await bus.nc.flush();
    const all = Array.from({ length: MAX_WAITING + 1 }, () => failure(bus.request('mute', '', { timeoutMs: 300 })));
    const kinds = (await Promise.all(all)).map((error) => isCortexError(error) && error.kind);
    expect(kinds.filter((kind) => kind === 'resource_exhausted')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'deadline_exceeded')).toHaveLength(MAX_WAITING);
  });

  it('that waits keeps no record out of the log, however many there are', async () => {
    const bus = await busOf();
    bus.subscribe('mute', () => {});
    await bus.nc.flush();
    const all = Array.from({ length: MAX_WAITING }, () => failure(bus.request('mute', '', { timeoutMs: 1000 })));
    const { seq } = await bus.publishAcked('t.full_house', 'a record');
    expect(await bus.direct.last('T', 't.full_house')).toMatchObject({ seq });
    expect(bus.waiting).toBe(MAX_WAITING);
    await Promise.all(all);
  });

  it('P85 over the announced limit, headers counted, is refused before it is sent', async () => {
    const bus = await busOf();
    const before = bus.nc.stats().outMsgs;
    const fits = bus.maxPayload - 12 - 'X-A: b\r\n'.length;
    const h = headers();
    h.set('X-A', 'b');
    const over = await failure(bus.request('echo', new Uint8Array(fits + 1), { timeoutMs: 1000, headers: h }));
    expect(over).toMatchObject({
      kind: 'invalid_argument',
      reason: 'too_large',
      details: { size: bus.maxPayload + 1 },
    });
    expect(() => bus.publish('echo', 'é'.repeat(bus.maxPayload / 2 + 1))).toThrow(/takes 1048576/);
    await bus.nc.flush();
    expect(bus.nc.stats().outMsgs).toBe(before);
    bus.publish('echo', new Uint8Array(fits), { headers: h });
    await bus.nc.flush();
    await eventually(() => bus.nc.stats().outMsgs === before + 1);
    expect(bus.up).toBe(true);
  });

  it('keeps the order of publishes and requests of one turn', async () => {
    const bus = await busOf();
    const seen: string[] = [];
    bus.subscribe('order.*', (m) => {
      seen.push(m.subject);
      m.respond('');
    });
    bus.publish('order.started', '');
    await bus.request('order.call', '', { timeoutMs: 2000 });
    expect(seen).toEqual(['order.started', 'order.call']);
  });

  it('is not stopped by a handler that throws', async () => {
    const bus = await busOf();
    bus.subscribe('bad', () => {
      throw new Error('broken');
    });
    bus.subscribe('good', (m) => m.respond('ok'));
    bus.publish('bad', '');
    expect((await bus.request('good', '', { timeoutMs: 2000 })).string()).toBe('ok');
  });
});

describe('a query', () => {
  it('over the inline limit travels by reference both ways, and an error of the other side arrives as its kind', async () => {
    const [a, b] = [await busOf('mcp-edge'), await busOf('ticket')];
    b.subscribe('q', (m) => {
      void (async () => {
        const { args } = await readRequest(b, m);
        const reply =
          args['text'] === 'no'
            ? { ok: false, error: { kind: 'not_found', field: 'x', message: 'x is unknown; see y', retryable: false } }
            : { ok: true, data: args['text'], last_seq: 7 };
        await answer(b, m, JSON.stringify(reply));
      })();
    });
    await b.nc.flush();
    const text = 'ü'.repeat(700_000);
    expect(await ask(a, 'q', { ...request, args: { text } })).toEqual({ data: text, last_seq: 7 });
    await expect(ask(a, 'q', { ...request, args: { text: 'no' } })).rejects.toMatchObject({
      kind: 'not_found',
      message: 'x is unknown; see y',
    });
  });

  it('of a damaged or foreign blob is refused', async () => {
    const bus = await busOf();
    const ref = await bus.blobs.put(Buffer.from('abc'));
    expect(Buffer.from(await bus.blobs.get(ref)).toString()).toBe('abc');
    await expect(bus.blobs.get({ ...ref, sha256: 'f'.repeat(64) })).rejects.toMatchObject({ kind: 'internal' });
    await expect(bus.blobs.get({ ...ref, object: 'a.b.>' })).rejects.toMatchObject({ kind: 'invalid_argument' });
    await expect(bus.blobs.get({ ...ref, object: 'ticket.x' })).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('an acknowledged publish', () => {
  it('tells the sequence, and that an id was there already even with a stale expectation', async () => {
    const bus = await busOf();
    const first = await bus.publishAcked('t.a', '1', { msgId: 'm1', expectLastSubjectSeq: 0 });
    expect(first).toMatchObject({ stream: 'T', duplicate: false });
    expect(await bus.publishAcked('t.a', '2', { msgId: 'm1', expectLastSubjectSeq: 0 })).toEqual({
      ...first,
      duplicate: true,
    });
  });

  it('with a stale expectation is a conflict that names the current sequence', async () => {
    const bus = await busOf();
    const { seq } = await bus.publishAcked('t.b', '1');
    await expect(bus.publishAcked('t.b', '2', { expectLastSubjectSeq: 0 })).rejects.toMatchObject({
      kind: 'conflict',
      reason: 'revision_conflict',
      details: { code: 10071, current: seq },
    });
  });

  it('into a full stream is unavailable with the code 10077', async () => {
    const bus = await busOf();
    await bus.publishAcked('full.a', '1');
    await expect(bus.publishAcked('full.a', '2', { msgId: 'f2' })).rejects.toMatchObject({
      kind: 'unavailable',
      details: { code: 10077 },
    });
  });

  it('on a subject that no stream takes says so', async () => {
    const bus = await busOf();
    await expect(bus.publishAcked('no.stream', '1', { timeoutMs: 300 })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('a stored message', () => {
  it('is read by its subject, onwards from a sequence, and from the leader', async () => {
    const bus = await busOf();
    const one = await bus.publishAcked('t.r.1', 'one', { headers: { 'X-A': 'b c' } });
    const two = await bus.publishAcked('t.r.2', 'two');
    const last = await bus.direct.last('T', 't.r.1');
    expect(last).toMatchObject({ subject: 't.r.1', seq: one.seq });
    expect(last?.headers?.get('X-A')).toBe('b c');
    expect(await bus.direct.next('T', 't.r.*', one.seq + 1)).toMatchObject({ subject: 't.r.2', seq: two.seq });
    expect(await bus.direct.next('T', 't.r.*', two.seq + 1)).toBeNull();
    expect(await bus.direct.last('T', 't.r.3')).toBeNull();
    const leader = await bus.direct.lastFromLeader('T', 't.r.1');
    expect(Buffer.from(leader?.data ?? []).toString()).toBe('one');
    expect(leader?.headers?.get('X-A')).toBe('b c');
    expect(await bus.direct.lastFromLeader('T', 't.r.3')).toBeNull();
    expect(await bus.direct.nextFromLeader('T', 't.r.*', two.seq)).toMatchObject({ seq: two.seq });
  });
});

describe('a bucket', () => {
  it('creates once, updates the revision it knows, and a deleted key is free again', async () => {
    const kv = (await busOf()).kv('b');
    const revision = await kv.create('k', '"1"');
    await expect(kv.create('k', '"2"')).rejects.toMatchObject({ kind: 'conflict' });
    expect((await kv.get('k'))?.json()).toBe('1');
    await kv.update('k', '"3"', revision);
    await expect(kv.update('k', '"4"', revision)).rejects.toMatchObject({ kind: 'conflict' });
    await kv.delete('k');
    expect(await kv.get('k')).toBeNull();
    await kv.create('k', '"5"');
    await kv.delete('k');
    const keys = [];
    for await (const { key } of kv.walk()) keys.push(key);
    expect(keys).toEqual([]);
  });

  it('watch tells what is there, each change once, and deletions; a refused write is not told', async () => {
    const bus = await busOf();
    const kv = bus.kv('b');
    await kv.put('w.a', '1');
    const told: [string, string | null][] = [];
    const watch = kv.watch('w.*', (key, entry: KvEntry | null) =>
      told.push([key, entry && Buffer.from(entry.value).toString()]),
    );
    await watch.ready;
    expect(told).toEqual([['w.a', '1']]);
    await kv.put('w.b', '2');
    await failure(kv.update('w.b', 'refused', 1));
    await kv.delete('w.a');
    await eventually(() =>
      expect(told).toEqual([
        ['w.a', '1'],
        ['w.b', '2'],
        ['w.a', null],
      ]),
    );
    watch.stop();
  });
});

describe('a server that goes away', () => {
  it('is waited for at the first connect, and subscriptions made meanwhile work', async () => {
    await server.stop();
    const bus = await busOf('ticket', `nats://127.0.0.1:${port}`);
    expect(bus.up).toBe(false);
    await expect(bus.request('late', '', { timeoutMs: 1000 })).rejects.toMatchObject({ kind: 'unavailable' });
    bus.subscribe('late', (m) => m.respond('here'));
    await start();
    await eventually(() => bus.up);
    expect((await bus.request('late', '', { timeoutMs: 2000 })).string()).toBe('here');
  });

  it('rejects at once where nobody wants to wait', async () => {
    const options = { servers: 'nats://127.0.0.1:1', service: 'ticket', waitOnFirstConnect: false } as const;
    await expect(connectBus(options)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('fails the calls in flight at once with an unknown outcome, and comes back', async () => {
    const bus = await busOf();
    const states: boolean[] = [];
    bus.onStatus((up) => states.push(up));
    bus.subscribe('mute', () => {});
    await bus.nc.flush();
    const call = failure(bus.request('mute', '', { timeoutMs: 30_000 }));
    await eventually(() => bus.waiting === 1);
    await new Promise((resolve) => setImmediate(resolve));
    const began = performance.now();
    await server.kill();
    expect(await call).toMatchObject({ kind: 'unavailable', details: { outcome: 'unknown' } });
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(await failure(bus.request('mute', '', { timeoutMs: 1000 }))).toMatchObject({
      kind: 'unavailable',
      details: { outcome: 'not_sent' },
    });
    await start();
    await eventually(() => expect(states).toEqual([false, true]));
  });

  it('killed under 32 publishers loses nothing acknowledged and stores nothing twice', async () => {
    const bus = await busOf();
    const acked = new Set<string>();
    let stop = false;
    const publisher = async (p: number) => {
      for (let n = 0; !stop; n++) {
        const id = `p${p}-${n}`;
        for (;;) {
          try {
            await bus.publishAcked('t.kill', id, { msgId: id, timeoutMs: 10_000 });
            acked.add(id);
            break;
          } catch (error) {
            if (!isCortexError(error) || error.kind !== 'unavailable') throw error;
            await eventually(() => bus.up, 10_000);
          }
        }
      }
    };
    const all = Promise.all(Array.from({ length: 32 }, (_, p) => publisher(p)));
    await eventually(() => acked.size > 500, 10_000);
    await server.kill();
    const before = acked.size;
    await start();
    await eventually(() => acked.size > before + 500, 10_000);
    stop = true;
    await all;
    const stored: string[] = [];
    for (let seq = 1; ;) {
      const message = await bus.direct.next('T', 't.kill', seq);
      if (!message) break;
      stored.push(Buffer.from(message.data).toString());
      seq = message.seq + 1;
    }
    expect(new Set(stored).size).toBe(stored.length);
    expect([...acked].filter((id) => !stored.includes(id))).toEqual([]);
  });

  it('has its bucket watches catch up, deletions too', async () => {
    const bus = await busOf();
    const kv = bus.kv('b');
    await kv.put('x.a', '1');
    await kv.put('x.b', '1');
    const seen = new Map<string, string | null>();
    const watch = kv.watch('x.*', (key, entry) => seen.set(key, entry && Buffer.from(entry.value).toString()));
    await watch.ready;
    await server.kill();
    await start();
    const other = await busOf('team');
    await other.kv('b').put('x.b', '2');
    await other.kv('b').delete('x.a');
    await eventually(() => expect(Object.fromEntries(seen)).toEqual({ 'x.a': null, 'x.b': '2' }), 10_000);
    watch.stop();
  });

  it('drain sends what is queued and lets answers come', async () => {
    const [a, b] = [await busOf(), await busOf('team')];
    const { promise: drains, resolve } = Promise.withResolvers<void>();
    b.subscribe('slowly', (m) => void drains.then(() => m.respond('done')));
    await b.nc.flush();
    const call = a.request('slowly', '', { timeoutMs: 5000 });
    const drained = a.drain();
    resolve();
    await drained;
    expect((await call).string()).toBe('done');
  });
});
