import { describe, expect, it } from '@jest/globals';
import { evolve, MOST_TOLD, WAKE_DATA_CHARS } from './evolve.js';
import type { State, Waitpoint } from './state.js';
import { wakeOf } from './wake-text.js';

const at = (seconds: number) => new Date(Date.parse('2026-03-01T09:00:00.000Z') + seconds * 1_000).toISOString();
const meta = { actor: { kind: 'external' as const, id: 'x' }, workspace: 'w1', version: 1 };
const waitpoint_id = 'wp_1a2b3c4d5e6f';

interface Said {
  status?: 'ok' | 'fail';
  member?: string;
  message?: string;
  data?: string;
}
const created = {
  waitpoint_id,
  session_id: 's1',
  channel: 'web:s1',
  project: null,
  label: 'train arm2',
  intent: 'compare the loss with arm6',
  members: [] as string[],
  need: 1,
  fail_fast: true,
  max_signals: 1,
  coalesce_ms: 0,
  emit_from: { kind: 'local' as const },
  expires_at: at(604_800),
  secret_sha256: 'a'.repeat(64),
};

/** A waitpoint that these signals have fired, or that has expired after them. */
function told(signals: Said[], settings: Partial<typeof created> = {}, end: 'fired' | 'expired' = 'fired'): Waitpoint {
  const data = { ...created, ...settings };
  let state: State = evolve({ status: 'none' }, { type: 'WaitpointCreated', data, at: at(0), ...meta });
  signals.forEach(({ status = 'ok', member = null, message = null, data: attached = null }, i) => {
    const recorded = { n: i + 1, status, member, slot: member ?? `#${i + 1}`, message, data: attached };
    state = evolve(state, {
      type: 'SignalRecorded',
      data: { waitpoint_id, ...recorded, source: 'webhook', dedupe_key: null },
      at: at(60 + i),
      ...meta,
    });
  });
  const nonce = '0123456789abcdef';
  const wake = { turn: 1, at: at(3_700), joins: false, warning: false, nonce };
  const closes = data.max_signals === 1;
  state =
    end === 'expired'
      ? evolve(state, {
          type: 'WaitpointExpired',
          data: { waitpoint_id, reported: signals.length, need: data.need, turn: 1, nonce },
          at: at(604_800),
          ...meta,
        })
      : evolve(state, {
          type: 'WaitpointFired',
          data: { waitpoint_id, fire_no: 1, cause: 'quorum', closes, wake },
          at: at(3_700),
          ...meta,
        });
  return state as Waitpoint;
}
const textOf = (waitpoint: Waitpoint): string => wakeOf(waitpoint, waitpoint.pending!).text;
const headOf = (waitpoint: Waitpoint): string => textOf(waitpoint).split('\n')[1]!;

describe('a wake says', () => {
  it('what ended, how, and after how long', () => {
    expect(headOf(told([{}]))).toBe('Waitpoint "train arm2" (wp_1a2b3c4d5e6f) fired, after 1 h 1 min.');
    expect(headOf(told([{ status: 'fail' }]))).toContain('fired: the job failed, after 1 h 1 min.');
    const three = [{ member: 'a' }, { member: 'b', status: 'fail' as const }, { member: 'c' }];
    expect(headOf(told(three, { need: 3 }))).toContain('fired: 1 failed, 3 of 3 reported, after');
    expect(headOf(told(three, { need: 3, max_signals: 9 }))).toContain('3 of 3 reported');
  });
  it('that nothing, or too little, reported before the deadline', () => {
    expect(headOf(told([], {}, 'expired'))).toContain('expired after 7 d: nothing reported.');
    expect(headOf(told([{}], { need: 3 }, 'expired'))).toContain('expired after 7 d: only 1 of 3 reported.');
  });
  it('how many fires of a mailbox are used', () => {
    expect(textOf(told([{}], { max_signals: 9 }))).toContain('It has fired 1 of 9 times and stays armed.');
  });
  it('what was noted, who reported what, and where the rest is', () => {
    const text = textOf(told([{ member: 'arm2', message: 'exit=0' }]));
    expect(text).toContain('\nWhat you noted to do then:\ncompare the loss with arm6\n');
    expect(text).toContain('\n- "arm2" (signal 1): ok at 2026-03-01T09:01:00.000Z\n');
    expect(text).toContain('signal 1 message: exit=0');
    expect(text).toMatch(/All its signals: wait_check with id wp_1a2b3c4d5e6f\.\n<\/system-reminder>$/);
  });
  it('nothing of a negative time when the clock was set back', () => {
    expect(headOf({ ...told([{}]), created_at: at(9_999) })).toContain('after less than a second');
  });
});

it('is the same text for the same state, so that one that is sent again is known by it', () => {
  const waitpoint = told([{ message: 'm' }]);
  expect(textOf(waitpoint)).toBe(textOf(JSON.parse(JSON.stringify(waitpoint)) as Waitpoint));
});

it('T96 stays within 30,000 characters, whatever was signalled, and says what is left out', () => {
  const flood = Array.from({ length: 3 * MOST_TOLD }, (_, i) => ({
    member: `${i}${'m'.repeat(200)}`,
    message: 'x'.repeat(2_000),
    data: 'y'.repeat(16_000),
  }));
  const waitpoint = told(flood, { label: 'l'.repeat(120), intent: 'i'.repeat(4_000), need: 100 });
  const text = textOf(waitpoint);
  expect(text.length).toBeLessThan(30_000);
  expect(text).toContain(`and ${2 * MOST_TOLD} more, see wait_check`);
  expect(text).toContain('message: [left out, see wait_check]');
  expect(text.match(/y{10,}/g)!.join('').length).toBeLessThanOrEqual(WAKE_DATA_CHARS);
  expect(text).toContain('[cut: 8000 more characters]');
});
