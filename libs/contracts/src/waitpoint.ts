export const SIGNAL_STATUSES = ['ok', 'fail', 'progress'] as const;
export type SignalStatus = (typeof SIGNAL_STATUSES)[number];

export const WAITPOINT_STATES = ['armed', 'fired', 'expired', 'cancelled'] as const;
export type WaitpointState = (typeof WAITPOINT_STATES)[number];

/** `wp_` and 12 hex digits. */
export const WAITPOINT_ID_PATTERN = /^wp_[0-9a-f]{12}$/;

/** Where the job runs that signals. */
export type EmitFrom = { kind: 'local' } | { kind: 'device'; device: string };

/** Events of `waitpoint.waitpoint`, one aggregate per waitpoint, in its session's workspace. Source: agent-server, sections 13 and 24. */
export type WaitpointEvent =
  | {
      type: 'WaitpointCreated';
      data: {
        waitpoint_id: string;
        /** The session that waits. */
        session_id: string;
        channel: string;
        project: string | null;
        label: string;
        intent: string;
        members: string[];
        need: number;
        fail_fast: boolean;
        max_signals: number;
        /** Signals within so many milliseconds of the firing one go into its wake. */
        coalesce_ms: number;
        emit_from: EmitFrom;
        expires_at: string;
        secret_sha256: string;
      };
    }
  | {
      type: 'SignalRecorded';
      data: {
        waitpoint_id: string;
        /** 1 for the first one of the waitpoint. */
        n: number;
        status: SignalStatus;
        member: string | null;
        /** What it counts for: the member's name, `#<n>` without one, null for what never counts. */
        slot: string | null;
        message: string | null;
        /** JSON text, or the text itself where a text was sent. */
        data: string | null;
        /** `webhook`, `spool` or `device:<name>`. */
        source: string;
        dedupe_key: string | null;
      };
    }
  | {
      type: 'WaitpointFired';
      data: {
        waitpoint_id: string;
        fire_no: number;
        cause: 'quorum' | 'fail_fast';
        closes: boolean;
        /** The wake that tells it; null where the cap withheld it. */
        wake: {
          /** Counts what the session is to be told: fires and the expiry. */
          turn: number;
          /** When it is due. */
          at: string;
          /** True when it goes into a wake that is pending already, so that it is none more. */
          joins: boolean;
          /** It says that the cap is reached. */
          warning: boolean;
          /** Random, of the fence around what came from outside: kept, so that a wake sent again is the same text. */
          nonce: string;
        } | null;
      };
    }
  | { type: 'WaitpointWakeWithheld'; data: { waitpoint_id: string; wakes_last_hour: number } }
  | {
      type: 'WaitpointWakeDelivered';
      /** `more`: something fired while it was on its way, and is still to be told. */
      data: { waitpoint_id: string; message_id: string; signal_nos: number[]; more: boolean };
    }
  | {
      type: 'WaitpointWakeFailed';
      data: { waitpoint_id: string; attempts: number; error: string; retry_at: string };
    }
  | {
      type: 'WaitpointExpired';
      data: { waitpoint_id: string; reported: number; need: number; turn: number; nonce: string };
    }
  | { type: 'WaitpointCancelled'; data: { waitpoint_id: string; by: string } }
  | { type: 'SignalRejected'; data: { waitpoint_id: string; reason: 'wrong_secret' | 'late'; source: string } }
  | { type: 'WaitpointPurged'; data: { waitpoint_id: string } };
