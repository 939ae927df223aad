import { describe, expect, it } from '@jest/globals';
import { callerHash, callerKey } from './caller-key.js';
import { refuse } from './refusal.js';
import { expandScopes, parseScopeImplies } from './scopes.js';
import { TokenCache, type CachedToken } from './token-cache.js';

function cacheOf(token: Partial<CachedToken> = {}, maxEntries?: number) {
  const world = {
    now: 1_000_000,
    verified: 0,
    answer: async (): Promise<CachedToken | ReturnType<typeof refuse>> => ({
      kid: 'k1',
      exp: 1_000_000,
      ...token,
    }),
    cache: undefined as unknown as TokenCache<CachedToken>,
  };
  world.cache = new TokenCache({
    verify: () => {
      world.verified++;
      return world.answer();
    },
    now: () => world.now,
    ...(maxEntries && { maxEntries }),
  });
  return world;
}

describe('a cached token', () => {
  it('is verified once for a burst and then answered without a promise', async () => {
    const world = cacheOf();
    const [a, b] = await Promise.all([world.cache.get('t'), world.cache.get('t')]);
    expect(a).toBe(b);
    expect(world.cache.get('t')).toBe(a);
    expect(world.verified).toBe(1);
  });

  it('is verified again after a minute', async () => {
    const world = cacheOf();
    await world.cache.get('t');
    world.now += 59_999;
    await world.cache.get('t');
    expect(world.verified).toBe(1);
    world.now += 1;
    await world.cache.get('t');
    expect(world.verified).toBe(2);
  });

  it('ends with the token itself, skew included', async () => {
    const world = cacheOf({ exp: 1000 - 55 });
    await world.cache.get('t');
    world.now += 4999;
    await world.cache.get('t');
    expect(world.verified).toBe(1);
    world.now += 1;
    await world.cache.get('t');
    expect(world.verified).toBe(2);
  });

  it('is dropped when its key leaves the set, also while it is being verified', async () => {
    const world = cacheOf();
    await world.cache.get('t');
    world.cache.dropKid('other');
    await world.cache.get('t');
    expect(world.verified).toBe(1);
    world.cache.dropKid('k1');
    const pending = world.cache.get('t');
    world.cache.dropKid('k1');
    await pending;
    await world.cache.get('t');
    expect(world.verified).toBe(3);
  });

  it('is the oldest to go when the cache is full', async () => {
    const world = cacheOf({}, 2);
    for (const token of ['a', 'b', 'c', 'b', 'c', 'a']) await world.cache.get(token);
    expect([world.cache.size, world.verified]).toEqual([2, 4]);
  });
});

it('T01 a refusal is not kept, and a failure neither', async () => {
  const world = cacheOf();
  const good = world.answer;
  world.answer = async () => refuse('signature');
  expect(await world.cache.get('t')).toEqual(refuse('signature'));
  world.answer = async () => Promise.reject(new Error('the database is away'));
  await expect(world.cache.get('t')).rejects.toThrow('away');
  world.answer = good;
  expect(await world.cache.get('t')).toMatchObject({ kid: 'k1' });
});

describe('the caller key', () => {
  const person = { issuer: 'i', sub: 'alice', client_id: 'cli' };

  it('T03 of an agent is its session, never that of the person whose sub it carries', () => {
    const keys = [person, { ...person, client_id: 'web' }, { ...person, issuer: 'j' }, { ...person, sid: 's1' }];
    expect(new Set(keys.map(callerKey)).size).toBe(keys.length);
    expect(callerKey({ ...person, sid: 's1' })).toBe(callerKey({ issuer: 'x', sub: 'y', client_id: 'z', sid: 's1' }));
  });

  it('cannot be made to look like another by what stands in its parts', () => {
    expect(callerKey({ ...person, sub: 'a","b' })).not.toBe(callerKey({ ...person, sub: 'a', client_id: 'b","cli' }));
  });

  it('is hashed where it leaves the edge', () => expect(callerHash(callerKey(person))).toMatch(/^[0-9a-f]{64}$/));
});

describe('scope implications', () => {
  it('are read from one line', () => {
    expect(parseScopeImplies(' all=a b ; a = c;all=d;')).toEqual({ all: ['a', 'b', 'd'], a: ['c'] });
  });

  it.each(['x', '=a', 'a=', 'a b=c'])('refuse %j', (text) => expect(() => parseScopeImplies(text)).toThrow(text));

  it('end also in a circle, and a scope named like a member of Object implies nothing', () => {
    const implies = parseScopeImplies('a=b;b=a c');
    expect([...expandScopes(['a', 'constructor', '__proto__'], implies)].sort()).toEqual(
      ['a', 'b', 'c', 'constructor', '__proto__'].sort(),
    );
  });
});
