import type { SignalStatus, WaitpointEvent, WaitpointState } from '@cortex/contracts/waitpoint';

/** A signal that the session has not been told yet. */
export interface Untold {
  n: number;
  at: string;
  status: SignalStatus;
  member: string | null;
  message: string | null;
  /** Cut to what one wake may show. */
  data: string | null;
}

/** A wake that is to be delivered. */
export interface Pending {
  /** The newest turn that it tells. */
  turn: number;
  /** When it is due; later after a failure. */
  at: string;
  nonce: string;
  warning: boolean;
  attempts: number;
  last_error: string | null;
}

type Created = Extract<WaitpointEvent, { type: 'WaitpointCreated' }>['data'];

/** What it was made with, and what has become of it. */
export interface Waitpoint extends Omit<Created, 'waitpoint_id'> {
  status: WaitpointState;
  id: string;
  created_at: string;
  resolved_at: string | null;
  /** Signals on record. */
  n: number;
  /** Of them those that filled no slot: progress, and members that report again. */
  spare: number;
  /** Who has reported in this round, and how. */
  slots: Record<string, SignalStatus>;
  /** First 16 hex digits of the SHA-256 of each dedupe key. */
  keys: string[];
  fires: number;
  /** Fires and expiry so far: what the session is to be told. */
  turn: number;
  /** Times of the wakes, the newest last; no more than decide asks for. */
  wakes: string[];
  /** The warning about the cap was given. */
  warned: boolean;
  pending: Pending | null;
  untold: Untold[];
  /** Untold signals that are too many for one wake. */
  omitted: number;
  /** Rejections on record. */
  rejected: number;
}

export type State = { status: 'none' } | { status: 'purged' } | Waitpoint;

export const isThere = (state: State): state is Waitpoint => state.status !== 'none' && state.status !== 'purged';

export const HOUR_MS = 3_600_000;
