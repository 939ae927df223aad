import { randomBytes } from 'node:crypto';
import { Sealer } from '@cortex/auth';
import { describe, expect, it } from '@jest/globals';
import { type Bound, RoundTrips } from './round-trips.js';

const TTL_S = 600;
const said: string[] = [];
const bound = {
  backend: { id: 'demo' },
  item: 'ask',
  method: 'tools/call',
  caller: { caller_key: 'k' },
  args: { a: 1, b: { c: 2, d: 3 } },
} as unknown as Bound;

describe('a request state', () => {
  const sealer = new Sealer(randomBytes(32));
  let now = 1_000_000;
  const trips = new RoundTrips(
    sealer,
    TTL_S,
    { warn: (fields: { why: string }) => void said.push(fields.why) } as never,
    () => now,
  );
  const opened = (request_state: unknown, more: Partial<Bound> = {}) =>
    trips.opened({ ...bound, ...more }, { request_state } as never).requestState;

  it('T15 comes back until its time is over, and not a moment longer', () => {
    now = 1_000_000;
    const { requestState } = trips.asked(bound, undefined, { requestState: 'mine' });
    now += TTL_S * 1000 - 1;
    expect(opened(requestState)).toBe('mine');
    now += 1;
    expect(() => opened(requestState)).toThrow('Invalid or expired requestState');
    expect(said).toEqual(['expired']);
  });

  it('T15 is of one backend, as well as of one item', () => {
    const { requestState } = trips.asked(bound, undefined, { requestState: 'mine' });
    expect(() => opened(requestState, { backend: { id: 'other' } as never })).toThrow(
      'Invalid or expired requestState',
    );
  });

  it('knows the same arguments in another order of their keys', () => {
    const { requestState } = trips.asked(bound, undefined, { requestState: 'mine' });
    expect(opened(requestState, { args: { b: { d: 3, c: 2 }, a: 1 } })).toBe('mine');
  });
});
