import type { BillingMode, CostSource } from '@cortex/contracts/cost';
import { defineMigrations } from '@cortex/eventstore';
import { ownershipTables, type OwnershipDb } from '@cortex/service-kit/ownership';
import { sql, type ColumnType, type Generated } from 'kysely';

/** One record of spending; kept 90 days. Source: CostRecorded. */
export interface CostEntryRow {
  workspace_id: string;
  /** Id of the aggregate. */
  id: string;
  timestamp: ColumnType<Date, string, never>;
  project: string;
  trigger: string | null;
  /** Millionths of a US dollar; null where no price is known. */
  cost_micros: ColumnType<string | null, number | null, never>;
  num_turns: number | null;
  duration_s: number | null;
  backend: string | null;
  mode: BillingMode;
  source: CostSource;
  input_tokens: ColumnType<string, number, never>;
  output_tokens: ColumnType<string, number, never>;
  cache_read_tokens: ColumnType<string, number, never>;
  cache_creation_tokens: ColumnType<string, number, never>;
  provider: string | null;
  model: string | null;
  session_id: string | null;
  owner_session_id: string | null;
  execution_id: string | null;
}

/**
 * What a project spent in a quarter of an hour, over all workspaces: what budgets are compared with. A quarter, since days
 * begin at one in every zone.
 */
export interface SpendingRow {
  project: string;
  quarter: ColumnType<Date, string, never>;
  cost_micros: Generated<string>;
}

/** Limits in force, US dollars; `project` '' is the global budget. Source: BudgetSet, ProjectBudgetCleared. */
export interface BudgetRow {
  project: string;
  daily_usd: number;
  monthly_usd: number;
}

/** Budgets that were exceeded, `project` '' for the global one. Source: BudgetExceeded. */
export interface OverspendRow {
  project: string;
  period: 'day' | 'month';
  starts: string;
  limit_usd: number;
  exceeded_at: ColumnType<Date, string, string>;
}

export interface BillingDb extends OwnershipDb {
  cost_entries: CostEntryRow;
  spending: SpendingRow;
  budgets: BudgetRow;
  overspends: OverspendRow;
}

export const migrations = defineMigrations({
  '0001_costs': {
    async up(db) {
      await sql`
        create table cost_entries (
          workspace_id text not null, id text not null, timestamp timestamptz not null,
          project text not null, trigger text, cost_micros bigint, num_turns integer, duration_s double precision,
          backend text, mode text not null, source text not null,
          input_tokens bigint not null, output_tokens bigint not null,
          cache_read_tokens bigint not null, cache_creation_tokens bigint not null,
          provider text, model text, session_id text, owner_session_id text, execution_id text,
          primary key (workspace_id, id))`.execute(db);
      await sql`create index cost_entries_time on cost_entries (timestamp)`.execute(db);
      await sql`create index cost_entries_session on cost_entries (session_id)`.execute(db);
      await sql`
        create table spending (
          project text not null, quarter timestamptz not null, cost_micros bigint not null default 0,
          primary key (project, quarter))`.execute(db);
      await sql`create index spending_quarter on spending (quarter)`.execute(db);
      await sql`
        create table budgets (
          project text primary key, daily_usd double precision not null, monthly_usd double precision not null)
        `.execute(db);
      await sql`
        create table overspends (
          project text not null, period text not null, starts text not null,
          limit_usd double precision not null, exceeded_at timestamptz not null,
          primary key (project, period, starts))`.execute(db);
    },
  },
  '0002_whose': ownershipTables,
});
