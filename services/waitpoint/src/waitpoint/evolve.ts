import { sha256Hex } from '@cortex/contracts';
import { firstChars } from '@cortex/contracts/text';
import type { WaitpointEvent } from '@cortex/contracts/waitpoint';
import type { EventMeta } from '@cortex/eventstore';
import { HOUR_MS, isThere, type State, type Untold, type Waitpoint } from './state.js';

/** Characters of `data` that one wake shows, all signals together. */
export const WAKE_DATA_CHARS = 8_000;
/** Signals that one wake tells of. */
export const MOST_TOLD = 40;

/** What stands for a dedupe key in the state. */
export const keyOf = (dedupeKey: string): string => sha256Hex(dedupeKey).slice(0, 16);

export function evolve(state: State, event: WaitpointEvent & EventMeta): State {
  if (event.type === 'WaitpointCreated') return created(event.data, event.at);
  if (!isThere(state)) return state;
  switch (event.type) {
    case 'SignalRecorded':
      return recorded(state, event.data, event.at);
    case 'WaitpointFired': {
      const { fire_no, closes, wake } = event.data;
      const { pending, wakes, warned } = state;
      return {
        ...state,
        ...(closes ? { status: 'fired', resolved_at: event.at } : { slots: {} }),
        fires: fire_no,
        ...(wake !== null && {
          turn: wake.turn,
          wakes: wake.joins ? wakes : [...wakes.filter((past) => isRecent(past, event.at)), event.at],
          warned: warned || wake.warning,
          pending: {
            turn: wake.turn,
            at: wake.at,
            nonce: wake.nonce,
            warning: wake.warning || pending?.warning === true,
            attempts: pending?.attempts ?? 0,
            last_error: pending?.last_error ?? null,
          },
        }),
      };
    }
    case 'WaitpointExpired': {
      const { turn, nonce } = event.data;
      const { warning = false, attempts = 0, last_error = null } = state.pending ?? {};
      const pending = { turn, at: event.at, nonce, warning, attempts, last_error };
      return { ...state, status: 'expired', resolved_at: event.at, turn, pending };
    }
    case 'WaitpointCancelled':
      return { ...state, status: 'cancelled', resolved_at: event.at, pending: null, untold: [], omitted: 0 };
    case 'WaitpointWakeDelivered': {
      const { signal_nos, more } = event.data;
      const untold = state.untold.filter(({ n }) => !signal_nos.includes(n));
      return { ...state, pending: more ? state.pending : null, untold, omitted: 0 };
    }
    case 'WaitpointWakeFailed': {
      const { attempts, error, retry_at } = event.data;
      return state.pending === null
        ? state
        : { ...state, pending: { ...state.pending, attempts, last_error: error, at: retry_at } };
    }
    case 'SignalRejected':
      return { ...state, rejected: state.rejected + 1 };
    case 'WaitpointWakeWithheld':
      return state;
    case 'WaitpointPurged':
      return { status: 'purged' };
  }
}

const isRecent = (past: string, now: string): boolean => Math.abs(Date.parse(now) - Date.parse(past)) < HOUR_MS;

type Created = Extract<WaitpointEvent, { type: 'WaitpointCreated' }>['data'];

const created = ({ waitpoint_id: id, ...data }: Created, at: string): Waitpoint => ({
  status: 'armed',
  id,
  ...data,
  created_at: at,
  resolved_at: null,
  n: 0,
  spare: 0,
  slots: {},
  keys: [],
  fires: 0,
  turn: 0,
  wakes: [],
  warned: false,
  pending: null,
  untold: [],
  omitted: 0,
  rejected: 0,
});

type Recorded = Extract<WaitpointEvent, { type: 'SignalRecorded' }>['data'];

function recorded(state: Waitpoint, signal: Recorded, at: string): Waitpoint {
  const { n, status, slot, dedupe_key } = signal;
  const fills = state.status === 'armed' && slot !== null && !Object.hasOwn(state.slots, slot);
  return {
    ...state,
    n,
    spare: fills ? state.spare : state.spare + 1,
    slots: slot === null ? state.slots : { ...state.slots, [slot]: status },
    keys: dedupe_key === null ? state.keys : [...state.keys, keyOf(dedupe_key)],
    ...(status !== 'progress' && told(state, signal, at)),
  };
}

/** No more than a wake shows is kept of what it is to tell; all of it stands in the view. */
function told({ untold, omitted }: Waitpoint, signal: Recorded, at: string): Pick<Waitpoint, 'untold' | 'omitted'> {
  if (untold.length >= MOST_TOLD) return { untold, omitted: omitted + 1 };
  const { n, status, member, message } = signal;
  const left = WAKE_DATA_CHARS - untold.reduce((sum, { data }) => sum + (data?.length ?? 0), 0);
  const data = signal.data === null ? null : cut(signal.data, Math.max(0, left));
  const next: Untold = { n, at, status, member, message, data };
  return { untold: [...untold, next], omitted };
}

/** The first so many characters, and a note of how much is missing. */
export function cut(text: string, most: number): string {
  const shown = firstChars(text, most);
  return shown.length === text.length ? text : `${shown}… [cut: ${text.length - shown.length} more characters]`;
}
