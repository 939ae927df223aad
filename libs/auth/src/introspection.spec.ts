import { describe, expect, it } from '@jest/globals';
import { Introspection, type IntrospectionOptions } from './introspection.js';

function issuer(options: Partial<IntrospectionOptions> = {}) {
  const world = {
    now: 1_000_000_000,
    asked: [] as RequestInit[],
    serve: (): Response | Promise<Response> => Response.json({ active: true }),
    logs: [] as string[],
    says: (jti = 'j', token = `${jti}.token`) => Promise.resolve(introspection.verdict(jti, token)),
    introspection: undefined as unknown as Introspection,
  };
  const introspection = new Introspection({
    url: 'https://issuer.invalid/introspect',
    clientId: 'cortex',
    clientSecret: 's:e c&ret',
    now: () => world.now,
    log: (level, message) => void world.logs.push(`${level}: ${message}`),
    fetch: async (_url, init) => {
      world.asked.push(init ?? {});
      return world.serve();
    },
    ...options,
  });
  world.introspection = introspection;
  return world;
}

const down = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }));
const OUTAGES: [name: string, serve: () => Response | Promise<Response>][] = [
  ['nobody answers', down],
  ['500', () => new Response('', { status: 500 })],
  ['503', () => new Response('', { status: 503 })],
  ['429', () => new Response('', { status: 429 })],
];
const MISFITS: [name: string, serve: () => Response][] = [
  ['401', () => new Response('', { status: 401 })],
  ['403', () => new Response('', { status: 403 })],
  ['404', () => new Response('', { status: 404 })],
  ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://evil.invalid' } })],
  ['HTML', () => new Response('<html>')],
  ['null', () => new Response('null')],
  ['no verdict', () => Response.json({})],
  ['a text for a verdict', () => Response.json({ active: 'true' })],
];

describe('a verdict', () => {
  it('is asked for as RFC 7662 says, with credentials that hold any character', async () => {
    const world = issuer();
    expect(await world.says('j', 'a.b.c')).toBe('active');
    const [{ method, headers, body, redirect } = {}] = world.asked;
    expect([method, body, redirect]).toEqual(['POST', 'token=a.b.c', 'manual']);
    const sent = (headers as Record<string, string>)['authorization']!.slice('Basic '.length);
    expect(Buffer.from(sent, 'base64').toString()).toBe('cortex:s%3Ae+c%26ret');
  });

  it('holds for its time, is asked for once by a burst, and needs no promise while it holds', async () => {
    const world = issuer({ cacheSeconds: 10 });
    await Promise.all([world.says(), world.says(), world.says()]);
    world.now += 9_999;
    expect(world.introspection.verdict('j', 't')).toBe('active');
    expect(world.asked).toHaveLength(1);
    world.serve = () => Response.json({ active: false });
    world.now += 1;
    expect(await world.says()).toBe('revoked');
    expect(world.introspection.verdict('j', 't')).toBe('revoked');
  });

  it('T18 is kept for so many tokens; the one not used for longest goes', async () => {
    const world = issuer({ maxEntries: 2 });
    for (const jti of ['a', 'b', 'a', 'c']) await world.says(jti);
    expect(world.asked).toHaveLength(3);
    await world.says('a');
    expect(world.asked).toHaveLength(3);
    await world.says('b');
    expect(world.asked).toHaveLength(4);
  });
});

describe('T02 while the issuer cannot be asked', () => {
  it.each(OUTAGES)('(%s) no token passes, and the first one after it does', async (_, serve) => {
    const world = issuer();
    world.serve = serve;
    expect([await world.says(), await world.says()]).toEqual(['unreachable', 'unreachable']);
    expect(world.logs).toEqual([expect.stringMatching(/^error: .*told to come back/)]);
    world.serve = () => Response.json({ active: true });
    expect(await world.says()).toBe('active');
    expect(world.logs[1]).toMatch(/^info/);
  });

  it.each(OUTAGES)('(%s) and "open" is set, it passes for 5 s, and an error says so', async (_, serve) => {
    const world = issuer({ failMode: 'open' });
    world.serve = serve;
    expect(await world.says()).toBe('active');
    expect(world.logs).toEqual([expect.stringMatching(/^error: .*revoked ones pass/)]);
    world.serve = () => Response.json({ active: false });
    world.now += 4_999;
    expect(await world.says()).toBe('active');
    world.now += 1;
    expect(await world.says()).toBe('revoked');
  });

  it.each(MISFITS)('(it answers %s) no token passes, "open" or not', async (_, serve) => {
    for (const failMode of ['closed', 'open'] as const) {
      const world = issuer({ failMode });
      world.serve = serve;
      expect(await world.says()).toBe('misconfigured');
      expect(world.logs).toEqual([expect.stringMatching(/^error: introspect_misconfigured/)]);
    }
  });

  it('a verdict from before holds to its end', async () => {
    const world = issuer();
    await world.says();
    world.serve = down;
    world.now += 59_999;
    expect(await world.says()).toBe('active');
    world.now += 1;
    expect(await world.says()).toBe('unreachable');
  });
});
