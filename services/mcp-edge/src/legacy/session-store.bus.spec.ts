import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Bus } from '@cortex/bus';
import { natsFixture, type NatsFixture } from '@cortex/testing';
import { sha256Hex } from '@cortex/contracts';
import type { CallerContext } from '../seams.js';
import { SessionStore } from './session-store.js';

let nats: NatsFixture;
let bus: Bus;
let now = Date.now();

beforeAll(async () => {
  nats = await natsFixture();
  bus = await nats.busAs('mcp-edge');
});
afterAll(async () => nats[Symbol.asyncDispose]());

const who = (name: string) => ({ caller_hash: sha256Hex(name) }) as CallerContext;
const hello = {
  protocol_version: '2025-11-25',
  client_capabilities: { roots: {} },
  client_info: { name: 'c' },
} as const;
const store = (offered = 'these') => new SessionStore(bus, offered, () => now);
const idOf = async (name: string, sessions = store()) => (await sessions.create(who(name), hello))?.id ?? '';

describe('a session', () => {
  it('P02 is known to every replica as soon as its id was given out', async () => {
    const id = await idOf('alice');
    expect(await store().get(who('alice'), id)).toMatchObject({ id, ...hello });
  });

  it('T03 of another caller key is as unknown as one that never was', async () => {
    const id = await idOf('alice');
    expect(await store().get(who('bob'), id)).toBeNull();
    expect(await store().delete(who('bob'), id)).toBe(false);
    expect(await store().get(who('alice'), id)).not.toBeNull();
  });

  it.each(['', 'x', 'index', '*', '>', '../index', '00000000-0000-4000-8000-000000000000'])('is never %j', async (id) =>
    expect(await store().get(who('alice'), id)).toBeNull(),
  );

  it('keeps every subscription of those that come side by side, at one replica or at several', async () => {
    const id = await idOf('carol');
    const uris = Array.from({ length: 6 }, (_, n) => `docs://${n}`);
    const stores = [store(), store()];
    await Promise.all(uris.map((uri, n) => stores[n % 2]!.subscribe(who('carol'), id, uri, true)));
    const kept = (await store().get(who('carol'), id))?.subscriptions ?? [];
    expect([...kept].toSorted()).toEqual(uris);
  });

  it('that is deleted while it is changed does not come back', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => idOf('dave')));
    for (const id of ids) {
      const [deleted] = await Promise.all([
        store().delete(who('dave'), id),
        store().setLogLevel(who('dave'), id, 'debug'),
        store().subscribe(who('dave'), id, 'docs://1', true),
      ]);
      expect([deleted, await store().get(who('dave'), id)]).toEqual([true, null]);
    }
  });

  it('ends by its deletion, once', async () => {
    const id = await idOf('alice');
    expect(await store().delete(who('alice'), id)).toBe(true);
    expect(await store().get(who('alice'), id)).toBeNull();
    expect(await store().delete(who('alice'), id)).toBe(false);
  });

  it('ends 24 h after it began, however often it was changed', async () => {
    const id = await idOf('carol');
    await store().setLogLevel(who('carol'), id, 'error');
    expect(await store().get(who('carol'), id)).toMatchObject({ log_level: 'error' });
    now += 86_400_000;
    expect(await store().get(who('carol'), id)).toBeNull();
  });

  it('P06 is over for a release that offers something else, so that its client hears of it', async () => {
    const id = await idOf('erin');
    expect(await store('these and more').get(who('erin'), id)).toBeNull();
    expect(await store().get(who('erin'), id)).not.toBeNull();
  });

  it('is refused when the client says too much of itself', async () =>
    expect(await store().create(who('alice'), { ...hello, client_info: { name: 'x'.repeat(40_000) } })).toBeNull());

  it('is one of at most a hundred: the oldest is closed, also when replicas open them side by side', async () => {
    const first = await idOf('dave');
    const replicas = [store(), store()] as const;
    const ids = await Promise.all(Array.from({ length: 100 }, (_, i) => idOf('dave', replicas[i % 2] ?? store())));
    expect(await store().get(who('dave'), first)).toBeNull();
    const alive = await Promise.all(ids.map((id) => store().get(who('dave'), id)));
    expect(alive.filter(Boolean)).toHaveLength(100);
  });
});
