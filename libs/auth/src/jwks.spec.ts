import { describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { JwksSource } from './jwks.js';

const keys = await Promise.all(
  ['k1', 'k2', 'k3'].map(async (kid) => ({
    ...(await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey)),
    kid,
  })),
);
const MINUTE = 60_000;

function issuer() {
  const world = {
    now: 1_000_000_000,
    fetches: 0,
    serve: (): Response | Promise<Response> => Response.json({ keys: keys.slice(0, 1) }),
    logs: [] as string[],
    gone: [] as string[],
    stale: [] as boolean[],
    has: (kid: string) => source.key({ alg: 'RS256', kid }).then((key) => key !== null),
    source: undefined as unknown as JwksSource,
  };
  const source = new JwksSource({
    url: 'http://issuer.invalid/jwks',
    now: () => world.now,
    fetch: async () => {
      world.fetches++;
      return world.serve();
    },
    onStale: (stale) => void world.stale.push(stale),
    log: (level, message) => void world.logs.push(`${level}: ${message}`),
  });
  source.onGone((kid) => void world.gone.push(kid));
  world.source = source;
  return world;
}

const down = () => Promise.reject(new TypeError('fetch failed'));

describe('the key set', () => {
  it('is fetched at the first token, by one fetch for a burst, and again after 10 minutes', async () => {
    const world = issuer();
    expect(world.fetches).toBe(0);
    await Promise.all([world.has('k1'), world.has('k1'), world.has('k1')]);
    world.now += 10 * MINUTE - 1;
    await world.has('k1');
    expect(world.fetches).toBe(1);
    world.now += 1;
    await world.has('k1');
    expect(world.fetches).toBe(2);
  });

  it('P56 is fetched once more for an unknown key id, at most every 30 s', async () => {
    const world = issuer();
    await world.has('k1');
    world.serve = () => Response.json({ keys: keys.slice(0, 2) });
    expect(await Promise.all([world.has('k2'), world.has('k2')])).toEqual([true, true]);
    expect(world.fetches).toBe(2);
    expect(await world.has('k3')).toBe(false);
    world.serve = () => Response.json({ keys });
    world.now += 29_999;
    expect(await world.has('k3')).toBe(false);
    expect(world.fetches).toBe(2);
    world.now += 1;
    expect(await world.has('k3')).toBe(true);
    expect(world.fetches).toBe(3);
  });

  it('P56 is fetched once more for a signature that does not fit, at most every 30 s too', async () => {
    const world = issuer();
    const header = { alg: 'RS256', kid: 'k1' };
    const old = (await world.source.key(header))!;
    world.serve = () => Response.json({ keys: [{ ...keys[1], kid: 'k1' }] });
    const found = await Promise.all([world.source.renewed(header, old), world.source.renewed(header, old)]);
    expect(found.every((key) => key !== null && key !== old)).toBe(true);
    // Who comes late with the old one is told of the new one without a fetch.
    expect(await world.source.renewed(header, old)).toBe(found[0]);
    expect([world.fetches, world.gone]).toEqual([2, ['k1', '']]);
    expect(await world.source.renewed(header, found[0]!)).toBeNull();
    expect(world.fetches).toBe(2);
    // Forged ones hold up no key that is new.
    world.serve = () => Response.json({ keys });
    expect([await world.has('k3'), world.fetches]).toEqual([true, 3]);
  });

  it('serves for 24 h while the endpoint is down, with a warning, and not longer', async () => {
    const world = issuer();
    await world.has('k1');
    world.serve = down;
    world.now += 11 * MINUTE;
    expect(await world.has('k1')).toBe(true);
    expect(world.logs).toEqual([expect.stringMatching(/^warn: .*last good/)]);
    expect(world.stale).toEqual([true]);
    expect(await world.has('k1')).toBe(true);
    expect(world.fetches).toBe(2);
    world.now += 24 * 60 * MINUTE;
    expect(await world.has('k1')).toBe(false);
    expect(world.gone).toContain('k1');
    expect(world.stale).toEqual([true, false]);
  });

  it('are called stale from the first fetch that fails, however young they are, until one succeeds', async () => {
    const world = issuer();
    await world.has('k1');
    world.serve = down;
    world.now += MINUTE;
    expect(await world.has('unknown')).toBe(false);
    expect(world.stale).toEqual([true]);
    world.serve = () => Response.json({ keys });
    world.now += MINUTE;
    await world.has('another');
    expect(world.stale).toEqual([true, false]);
  });

  it('refuses and says so while there was never one, and looks again within a second', async () => {
    const world = issuer();
    world.serve = down;
    expect(await world.has('k1')).toBe(false);
    expect(world.logs).toEqual([expect.stringMatching(/^error: .*every token of it is refused/)]);
    world.serve = () => Response.json({ keys });
    world.now += 1000;
    expect(await world.has('k1')).toBe(true);
  });

  it.each([
    ['500', () => new Response('{}', { status: 500 })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'http://evil.example' } })],
    ['HTML', () => new Response('<html>')],
    ['no key set', () => Response.json({ nokeys: [] })],
    ['more than 256 KiB', () => Response.json({ keys: [], filler: 'x'.repeat(256 * 1024) })],
  ])('takes no %s for keys', async (_, serve) => {
    const world = issuer();
    await world.has('k1');
    world.serve = serve;
    world.now += 11 * MINUTE;
    expect(await world.has('k1')).toBe(true);
    expect(world.logs[0]).toMatch(/^warn/);
  });

  it('T18 is read to its limit and no further', async () => {
    let given = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (stream) => {
        given += 64 * 1024;
        stream.enqueue(new Uint8Array(64 * 1024).fill(32));
      },
      cancel: () => void (cancelled = true),
    });
    const world = issuer();
    world.serve = () => new Response(endless);
    expect(await world.has('k1')).toBe(false);
    expect(cancelled).toBe(true);
    expect(given).toBeLessThan(2 * 1024 * 1024);
  });

  it('tells which keys left or changed', async () => {
    const world = issuer();
    world.serve = () => Response.json({ keys: keys.slice(0, 2) });
    await world.has('k1');
    world.serve = () => Response.json({ keys: [{ ...keys[2], kid: 'k1' }] });
    world.now += 10 * MINUTE;
    await world.has('k1');
    expect(world.gone.sort()).toEqual(['', 'k1', 'k2']);
  });
});

describe('a key set that does not come by HTTP', () => {
  it('is loaded as it is told to, and the last good one serves while that fails', async () => {
    let now = 1_000_000_000;
    let loads = 0;
    let load = async () => ({ keys: keys.slice(0, 1) });
    const source = new JwksSource({
      url: 'the key service',
      now: () => now,
      load: () => {
        loads++;
        return load();
      },
    });
    const has = async (kid: string) => (await source.key({ alg: 'RS256', kid })) !== null;
    expect([await has('k1'), loads]).toEqual([true, 1]);
    load = () => Promise.reject(new Error('nobody answers'));
    now += 11 * MINUTE;
    expect([await has('k1'), loads]).toEqual([true, 2]);
  });

  it.each([null, 'keys', {}, { keys: 'k1' }, { keys: [null] }])('is none when what comes is %j', async (given) => {
    const source = new JwksSource({ url: 'the key service', load: async () => given as never });
    expect(await source.key({ alg: 'RS256', kid: 'k1' })).toBeNull();
  });
});
