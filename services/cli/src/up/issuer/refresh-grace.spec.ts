import { expect, it } from '@jest/globals';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { RefreshGrace } from './refresh-grace.js';

/** A library that answers with the next token, or refuses. */
function renewer(now: () => number) {
  const grace = new RefreshGrace(now);
  let serial = 0;
  return async (token: string, fails = false): Promise<unknown> => {
    const ctx = { status: 404, body: null, oidc: { params: {} } } as unknown as KoaContextWithOIDC;
    await grace.around(ctx, async () => {
      ctx.status = 400;
      ctx.body = 'refused';
      try {
        await grace.check(ctx, token);
      } catch {
        return;
      }
      await Promise.resolve();
      if (fails) return;
      ctx.status = 200;
      ctx.body = { refresh_token: `t${++serial}` };
    });
    return ctx.body;
  };
}

it('P58 gives the same successor to whoever comes at once, and until 10 s have gone by', async () => {
  let now = 0;
  const renew = renewer(() => now);
  expect(await Promise.all([renew('t0'), renew('t0')])).toEqual([{ refresh_token: 't1' }, { refresh_token: 't1' }]);
  now = 9_999;
  expect(await renew('t0')).toEqual({ refresh_token: 't1' });
  now = 10_000;
  expect(await renew('t0')).toEqual({ refresh_token: 't2' }); // it is the library's again, which knows that it was used
});

it('P58 repeats nothing once the successor was used', async () => {
  const renew = renewer(() => 0);
  await renew('t0');
  await renew('t1');
  expect(await renew('t0')).toEqual({ refresh_token: 't3' });
});

it('repeats no refusal', async () => {
  const renew = renewer(() => 0);
  expect(await Promise.all([renew('t0', true), renew('t0')])).toEqual(['refused', { refresh_token: 't1' }]);
});
