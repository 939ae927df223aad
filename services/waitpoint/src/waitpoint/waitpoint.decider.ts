import { conflict, failedPrecondition, notFound, resourceExhausted } from '@cortex/contracts';
import type { SignalStatus, WaitpointEvent } from '@cortex/contracts/waitpoint';
import { defineDecider } from '@cortex/eventstore';
import { evolve, keyOf } from './evolve.js';
import { HOUR_MS, isThere, type State, type Waitpoint } from './state.js';

type DataOf<Type extends WaitpointEvent['type']> = Extract<WaitpointEvent, { type: Type }>['data'];

export interface RecordSignal {
  type: 'RecordSignal';
  at: string;
  status: SignalStatus;
  member: string | null;
  message: string | null;
  data: string | null;
  source: string;
  dedupe_key: string | null;
  /** It lay in a spool: a sweep takes those in before it lets waitpoints expire, so the deadline is not asked here. */
  spooled: boolean;
  /** Random: see `WaitpointFired`. */
  nonce: string;
  max_wakes_per_hour: number;
}

export type WaitpointCommand =
  | { type: 'CreateWaitpoint'; waitpoint: Omit<DataOf<'WaitpointCreated'>, 'coalesce_ms'> }
  | RecordSignal
  | { type: 'ExpireWaitpoint'; at: string; nonce: string }
  | { type: 'CancelWaitpoint'; by: string }
  | { type: 'MarkWakeDelivered'; message_id: string; signal_nos: number[]; turn: number }
  | { type: 'MarkWakeFailed'; at: string; error: string }
  | { type: 'RejectSignal'; reason: DataOf<'SignalRejected'>['reason']; source: string }
  | { type: 'PurgeWaitpoint'; at: string };

/** Where more than one report is needed, signals within so many milliseconds of the firing one go into its wake. */
export const COALESCE_MS = 3_000;
/** A resolved waitpoint stays so long, so that a late signal hears "gone" and not "unknown". */
export const KEPT_MS = 3 * 24 * HOUR_MS;
/** Signals that fill no slot; more of them would only fill the log. */
export const MOST_SPARE = 1_000;
/** Rejections on record of one waitpoint; what comes after them is in the service's log alone. */
const MOST_REJECTIONS = 20;
const FIRST_RETRY_MS = 15_000;
/** Longest wait between two tries of a wake. */
const LONGEST_RETRY_MS = 60_000;

const time = Date.parse;
const later = (at: string, ms: number): string => new Date(time(at) + ms).toISOString();

/** One waitpoint: who may fire it and when, what its session is to be told, and how often. */
export const waitpoint = defineDecider<WaitpointCommand, WaitpointEvent, State>({
  subject: 'waitpoint.waitpoint',
  initial: { status: 'none' },
  // What a job attaches came from outside like its message, and may hold what it was shown.
  descriptive: ['data'],
  decide(command, state): WaitpointEvent[] {
    if (command.type === 'CreateWaitpoint') return create(command.waitpoint, state);
    if (!isThere(state)) throw notFound('id', 'names no waitpoint', 'see wait_check without id');
    const { id: waitpoint_id, pending } = state;
    switch (command.type) {
      case 'RecordSignal':
        return record(command, state);
      case 'ExpireWaitpoint': {
        const due = state.status === 'armed' && time(command.at) >= time(state.expires_at);
        return due ? [expired(state, command.nonce)] : [];
      }
      case 'CancelWaitpoint':
        if (state.status !== 'armed') return [];
        return [{ type: 'WaitpointCancelled', data: { waitpoint_id, by: command.by } }];
      case 'MarkWakeDelivered': {
        if (pending === null) return []; // another instance was first
        const { message_id, signal_nos, turn } = command;
        // What came behind the text that was sent: another fire, or a signal that a closed one still took in.
        const late = state.status === 'fired' && state.untold.some(({ n }) => !signal_nos.includes(n));
        const more = pending.turn > turn || late;
        return [{ type: 'WaitpointWakeDelivered', data: { waitpoint_id, message_id, signal_nos, more } }];
      }
      case 'MarkWakeFailed': {
        if (pending === null) return [];
        const attempts = pending.attempts + 1;
        const pause = Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 10), LONGEST_RETRY_MS);
        const data = { waitpoint_id, attempts, error: command.error, retry_at: later(command.at, pause) };
        return [{ type: 'WaitpointWakeFailed', data }];
      }
      case 'RejectSignal': {
        if (state.rejected >= MOST_REJECTIONS) return [];
        const { reason, source } = command;
        return [{ type: 'SignalRejected', data: { waitpoint_id, reason, source } }];
      }
      case 'PurgeWaitpoint': {
        // One whose wake nobody took yet is kept for as long as it takes.
        const { resolved_at } = state;
        const over = resolved_at !== null && time(command.at) - time(resolved_at) >= KEPT_MS && pending === null;
        return over ? [{ type: 'WaitpointPurged', data: { waitpoint_id } }] : [];
      }
    }
  },
  evolve,
});

function create(waitpoint: Omit<DataOf<'WaitpointCreated'>, 'coalesce_ms'>, state: State): WaitpointEvent[] {
  // A call that comes again (its answer was lost) gets a new secret: that of the first try is known to nobody.
  const again = state.status === 'armed' && state.n === 0 && state.session_id === waitpoint.session_id;
  if (state.status !== 'none' && !again) {
    throw conflict('id', 'is taken', 'call again with a new idempotency key', { reason: 'already_settled' });
  }
  const coalesce_ms = waitpoint.need > 1 ? COALESCE_MS : 0;
  return [{ type: 'WaitpointCreated', data: { ...waitpoint, coalesce_ms } }];
}

function record(signal: RecordSignal, state: Waitpoint): WaitpointEvent[] {
  const { at, status, member, message, data, source, dedupe_key } = signal;
  if (dedupe_key !== null && state.keys.includes(keyOf(dedupe_key))) return [];
  const armed = state.status === 'armed';
  if (!armed && !mayJoin(at, state)) throw gone(state);
  if (armed && !signal.spooled && time(at) >= time(state.expires_at)) return [expired(state, signal.nonce)];
  const n = state.n + 1;
  const slot = status === 'progress' ? null : (member ?? `#${n}`);
  const fills = armed && slot !== null && !Object.hasOwn(state.slots, slot);
  const got = Object.keys(state.slots).length + (fills ? 1 : 0);
  const quorum = got >= state.need;
  const fires = armed && slot !== null && (quorum || (state.fail_fast && status === 'fail'));
  if (!fills && !fires && state.spare >= MOST_SPARE) {
    throw resourceExhausted('id', `has ${MOST_SPARE} signals that count for nothing`, 'send none more', {
      reason: 'rate_limited',
    });
  }
  const recorded = { waitpoint_id: state.id, n, status, member, slot, message, data, source, dedupe_key };
  const events: WaitpointEvent[] = [{ type: 'SignalRecorded', data: recorded }];
  return fires ? [...events, ...fire(signal, state, quorum ? 'quorum' : 'fail_fast')] : events;
}

/** Signals right behind the one that closed a waitpoint still go into its wake. */
const mayJoin = (at: string, { status, resolved_at, coalesce_ms, pending }: Waitpoint): boolean =>
  status === 'fired' && pending !== null && resolved_at !== null && time(at) - time(resolved_at) < coalesce_ms;

function fire(signal: RecordSignal, state: Waitpoint, cause: 'quorum' | 'fail_fast'): WaitpointEvent[] {
  const { at, nonce, max_wakes_per_hour } = signal;
  const { id: waitpoint_id, pending, wakes, warned } = state;
  const fire_no = state.fires + 1;
  const closes = fire_no >= state.max_signals;
  const turn = state.turn + 1;
  const fired = (wake: DataOf<'WaitpointFired'>['wake']): WaitpointEvent => ({
    type: 'WaitpointFired',
    data: { waitpoint_id, fire_no, cause, closes, wake },
  });
  if (pending !== null) return [fired({ turn, at: pending.at, joins: true, warning: false, nonce })];
  // What lies ahead of `at` was written before the clock was set back, and would hold wakes up for longer than an hour.
  const age = (wake: string) => time(at) - time(wake);
  const wakes_last_hour = wakes.filter((wake) => age(wake) >= 0 && age(wake) < HOUR_MS).length;
  const over = wakes_last_hour >= max_wakes_per_hour;
  if (!over || !warned) {
    return [fired({ turn, at: later(at, state.coalesce_ms), joins: false, warning: over, nonce })];
  }
  // Nothing comes after the last fire that could tell it: it wakes when the hour has moved on.
  const wake = closes ? { turn, at: later(at, HOUR_MS), joins: false, warning: false, nonce } : null;
  return [fired(wake), { type: 'WaitpointWakeWithheld', data: { waitpoint_id, wakes_last_hour } }];
}

function expired(state: Waitpoint, nonce: string): WaitpointEvent {
  const reported = Object.keys(state.slots).length;
  const { id: waitpoint_id, need } = state;
  return { type: 'WaitpointExpired', data: { waitpoint_id, reported, need, turn: state.turn + 1, nonce } };
}

function gone({ status, resolved_at }: Waitpoint) {
  return failedPrecondition('id', `is ${status} already`, 'arm a new waitpoint', {
    reason: 'invalid_state',
    details: { state: status, resolved_at },
  });
}
