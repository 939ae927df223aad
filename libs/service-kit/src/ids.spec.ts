import type { BusRequest } from '@cortex/contracts';
import { describe, expect, it } from '@jest/globals';
import { idsOf } from './ids.js';

const request: BusRequest = {
  v: 1,
  call_id: '01980000-0000-7000-8000-000000000001',
  workspace_id: 'w1',
  principal: { type: 'user', id: 'per_1', roles: [] },
  scope: {},
  args: {},
  deadline_ms: 1000,
};
const keyed = (changes: Partial<BusRequest> = {}) =>
  idsOf({ ...request, idempotency_key: 'k', caller: 'caller', call_id: String(Math.random()), ...changes }, 'tool');

describe('ids of a call', () => {
  it('are the same for a repeat with the same key, whatever its call id', () => {
    const [a, b] = [keyed(), keyed()];
    expect([a.commit(), a.commit(), a.next(), a.next('wp')]).toEqual([b.commit(), b.commit(), b.next(), b.next('wp')]);
  });

  it('are others for another caller, workspace, key or tool', () => {
    const ids = [
      keyed(),
      keyed({ caller: 'other' }),
      keyed({ workspace_id: 'w2' }),
      keyed({ idempotency_key: 'l' }),
      idsOf({ ...request, idempotency_key: 'k', caller: 'caller' }, 'other'),
    ];
    expect(new Set(ids.map((one) => one.commit())).size).toBe(5);
    expect(new Set(ids.map((one) => one.next())).size).toBe(5);
  });

  it('never are the same twice in one call', () => {
    const one = keyed();
    expect(new Set([one.commit(), one.commit(), one.next(), one.next(), one.ask(), one.ask()]).size).toBe(6);
  });

  it('are version 7 with the time of the call where its id tells one', () => {
    expect(idsOf(request, 'tool').next()).toMatch(/^01980000-0000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(keyed().next('wp')).toMatch(/^wp_[0-9a-f]{8}-[0-9a-f]{4}-8/);
  });

  it('of things are the same when the call is resumed, those of commits and questions are new', () => {
    const resumed = { ...request, resume: true };
    expect(idsOf(resumed, 'tool').next()).toBe(idsOf(request, 'tool').next());
    expect(idsOf(resumed, 'tool').commit()).not.toBe(idsOf(resumed, 'tool').commit());
    expect(idsOf(resumed, 'tool').ask()).not.toBe(idsOf(resumed, 'tool').ask());
  });

  it('let no commit of an asked service be taken for one of the asking service, or of another question', () => {
    const asking = idsOf(request, 'tool');
    const asked = () => idsOf({ ...request, idempotency_key: asking.ask() }, 'command');
    expect(new Set([asking, asked(), asked()].map((one) => one.commit())).size).toBe(3);
    expect(idsOf(request, 'tool').ask()).toBe(idsOf(request, 'tool').ask());
    expect(keyed().ask()).toBe(keyed().ask());
  });
});
