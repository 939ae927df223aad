import type { SignalStatus, WaitpointState } from '@cortex/contracts/waitpoint';
import { defineMigrations } from '@cortex/eventstore';
import { sql, type ColumnType, type Generated } from 'kysely';

type Time = ColumnType<Date, string, string>;
type MaybeTime = ColumnType<Date | null, string | null, string | null>;

/** A waitpoint as `wait_check` shows it. Source: the events of `waitpoint.waitpoint`. */
export interface WaitpointRow {
  workspace_id: string;
  waitpoint_id: string;
  session_id: string;
  channel: string;
  label: string;
  intent: string;
  state: WaitpointState;
  need: number;
  members: string[];
  /** Slots that have reported in this round. */
  reported: string[];
  fail_fast: boolean;
  fires: number;
  max_signals: number;
  /** Of the last hour before the newest one. */
  wake_times: ColumnType<Date[], string[], string[]>;
  wake_pending: boolean;
  attempts: number;
  last_error: string | null;
  /** Null: this host. */
  device: string | null;
  created_at: Time;
  expires_at: Time;
  resolved_at: MaybeTime;
}

/** A signal on record. */
export interface SignalRow {
  workspace_id: string;
  waitpoint_id: string;
  n: number;
  at: Time;
  status: SignalStatus;
  member: string | null;
  slot: string | null;
  message: string | null;
  data: string | null;
  source: string;
}

/**
 * Where each waitpoint is and when there is something to do for it, across workspaces: so it has no `workspace_id`, and
 * nothing in it that its workspace would not have known.
 */
export interface AgendaRow {
  waitpoint_id: string;
  workspace: string;
  state: WaitpointState;
  /** Of an armed one that is signalled from a device. */
  device: string | null;
  expires_at: Time;
  /** When the pending wake is due; null: none is pending. */
  wake_at: MaybeTime;
  resolved_at: MaybeTime;
}

/** The newest signals that were refused; the misses among them are the budget. Written by the service, lost without harm. */
export interface RejectionRow {
  n: Generated<string>;
  at: ColumnType<Date, never, never>;
  reason: 'unknown_id' | 'wrong_secret' | 'late';
  waitpoint_id: string | null;
  source: string;
}

export interface WaitpointDb {
  waitpoints: WaitpointRow;
  signals: SignalRow;
  agenda: AgendaRow;
  rejections: RejectionRow;
}

export const migrations = defineMigrations({
  '0001_waitpoints': {
    async up(db) {
      await sql`
        create table waitpoints (
          workspace_id text not null, waitpoint_id text not null, session_id text not null, channel text not null,
          label text not null, intent text not null, state text not null, need integer not null,
          members text[] not null, reported text[] not null default '{}', fail_fast boolean not null,
          fires integer not null default 0, max_signals integer not null,
          wake_times timestamptz[] not null default '{}', wake_pending boolean not null default false,
          attempts integer not null default 0, last_error text, device text,
          created_at timestamptz not null, expires_at timestamptz not null, resolved_at timestamptz,
          primary key (workspace_id, waitpoint_id))`.execute(db);
      await sql`create index waitpoints_of_session on waitpoints (workspace_id, session_id) where state = 'armed'`.execute(
        db,
      );
      await sql`create index waitpoints_of_channel on waitpoints (workspace_id, channel) where state = 'armed'`.execute(
        db,
      );
      await sql`
        create table signals (
          workspace_id text not null, waitpoint_id text not null, n integer not null, at timestamptz not null,
          status text not null, member text, slot text, message text, data text, source text not null,
          primary key (workspace_id, waitpoint_id, n))`.execute(db);
      await sql`
        create table agenda (
          waitpoint_id text primary key, workspace text not null, state text not null, device text,
          expires_at timestamptz not null, wake_at timestamptz, resolved_at timestamptz)`.execute(db);
      await sql`create index agenda_expires on agenda (expires_at) where state = 'armed'`.execute(db);
      await sql`create index agenda_wakes on agenda (wake_at) where wake_at is not null`.execute(db);
      await sql`create index agenda_resolved on agenda (resolved_at) where state <> 'armed' and wake_at is null`.execute(
        db,
      );
      await sql`create index agenda_devices on agenda (device) where state = 'armed' and device is not null`.execute(
        db,
      );
      await sql`
        create table rejections (
          n bigint generated always as identity primary key, at timestamptz not null default now(),
          reason text not null, waitpoint_id text, source text not null)`.execute(db);
      await sql`create index rejections_at on rejections (at)`.execute(db);
    },
  },
});
