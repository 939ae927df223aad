import type { BillingMode } from '@cortex/contracts/cost';
import type { ExecutionKind } from '@cortex/contracts/execution';
import { defineMigrations } from '@cortex/eventstore';
import { ownershipTables, type OwnershipDb } from '@cortex/service-kit/ownership';
import { sql, type ColumnType, type Generated } from 'kysely';
import type { Columns, REQUEST_COUNTS, REQUEST_TEXTS, TOOL_CALL_COUNTS, TOOL_CALL_TEXTS } from './record-fields.js';

interface Row {
  /** The call id. */
  id: string;
  workspace_id: string;
  /** When the call began. */
  created_at: Date | string;
  duration_ms: number | null;
  dev_bypass: boolean | null;
  /** `outcome` is `succeeded`; null while the call has none. */
  success: Generated<boolean | null>;
}

/** One row per tool call: made by its start, completed by its end. Without `finished_at` it runs or was cut off. */
export interface ToolCallRow extends Row, Columns<typeof TOOL_CALL_TEXTS, typeof TOOL_CALL_COUNTS> {
  method: Generated<string>;
  finished_at: Date | string | null;
  classes: string[];
  /** US dollars. */
  cost_usd: number | string | null;
}

/** One row per authenticated request that is no tool call, and one per refused authentication. */
export interface RequestRow extends Row, Columns<typeof REQUEST_TEXTS, typeof REQUEST_COUNTS> {
  type: 'cortex_audit' | 'cortex_auth_failure';
}

export const EXECUTION_STATUSES = ['running', 'completed', 'failed', 'cancelled', 'stale'] as const;
export type ExecutionStatus = (typeof EXECUTION_STATUSES)[number];

/** One run of an agent. Source: the events of `audit.execution`. */
export interface ExecutionRow {
  workspace_id: string;
  id: string;
  status: ExecutionStatus;
  run_id: string | null;
  kind: ExecutionKind;
  project: string;
  backend: string | null;
  billing_mode: BillingMode | null;
  session_id: string;
  owner_session_id: string | null;
  person_id: string | null;
  trigger: string;
  label: string;
  schedule_task_id: string | null;
  started_at: ColumnType<Date, string, never>;
  /** When its start was recorded, which may be long after it. */
  told_at: ColumnType<Date, string, never>;
  ended_at: ColumnType<Date | null, string | null | undefined, string>;
  /** As its end told it. */
  reported_cost_usd: ColumnType<number | null, number | null | undefined, number | null>;
  reported_turns: ColumnType<number | null, number | null | undefined, number | null>;
  duration_s: ColumnType<number | null, number | null | undefined, number | null>;
  /** At most 2,000 characters. */
  final_output: ColumnType<string | null, string | null | undefined, string | null>;
  error: ColumnType<string | null, string | null | undefined, string | null>;
}

/** Sums of an execution's records of spending. Source: CostRecorded. */
export interface ExecutionCostRow {
  workspace_id: string;
  execution_id: string;
  /** US dollars; null while none of the records has a cost. */
  cost_usd: string | null;
  num_turns: number | null;
}

/** Links of the hash chain of records whose sequences follow each other. `hashes`: 32 bytes each. Source: `callChain`. */
export interface CallChainRow {
  /** Of the stream; so is `last_seq`. Numbers when written, text when read. */
  first_seq: ColumnType<string, number, never>;
  last_seq: ColumnType<string, number, never>;
  hashes: Buffer;
}

export interface AuditDb extends OwnershipDb {
  call_chain: CallChainRow;
  tool_calls: ToolCallRow;
  requests: RequestRow;
  executions: ExecutionRow;
  execution_costs: ExecutionCostRow;
}

const SHARED = sql`
  id text primary key,
  workspace_id text not null,
  created_at timestamptz not null,
  target_app text,
  caller_sub text, caller_role text, caller_pool text, caller_email_hash text, client_id text,
  scope_used text, params_hash text, result_bytes bigint, duration_ms double precision,
  outcome text, success boolean generated always as (outcome = 'succeeded') stored,
  error_code text, error_kind text, reason text, gate text,
  protocol_version text, origin text, session_id text, mcp_session_id text, dev_bypass boolean,
  era text, transport text, request_id text, trace_id text, replica text,
  task_id text, round bigint, token_mode text, confirmation text, catalog_version bigint`;

export const migrations = defineMigrations({
  '0001_calls': {
    async up(db) {
      await sql`
        create table tool_calls (${SHARED},
          method text not null default 'tools/call', finished_at timestamptz, deadline_ms bigint,
          tool text, tool_original text, service text, args_bytes bigint,
          mode text, decision text, source text, classes text[] not null default '{}', approved_by text,
          remembered_rule text, cost_usd numeric)`.execute(db);
      await sql`
        create table requests (${SHARED},
          type text not null, method text, ip_hash text,
          tools_listed bigint, tokens_estimate bigint, backends_filter text, tool_mode text)`.execute(db);
      for (const table of ['tool_calls', 'requests']) {
        for (const columns of [['created_at'], ['method', 'created_at'], ['caller_sub'], ['success', 'created_at']]) {
          await db.schema
            .createIndex(`${table}_${columns.join('_')}`)
            .on(table)
            .columns(columns)
            .execute();
        }
      }
      await db.schema.createIndex('tool_calls_tool').on('tool_calls').column('tool').execute();
    },
  },
  '0002_executions': {
    async up(db) {
      await sql`
        create table executions (
          workspace_id text not null, id text not null, status text not null,
          run_id text, kind text not null, project text not null, backend text, billing_mode text,
          session_id text not null, owner_session_id text, person_id text,
          trigger text not null, label text not null, schedule_task_id text,
          started_at timestamptz not null, told_at timestamptz not null, ended_at timestamptz,
          reported_cost_usd double precision, reported_turns integer, duration_s double precision,
          final_output text, error text,
          primary key (workspace_id, id))`.execute(db);
      await sql`create index executions_started on executions (started_at desc)`.execute(db);
      await sql`create index executions_running on executions (started_at) where status = 'running'`.execute(db);
      await sql`create index executions_session on executions (session_id)`.execute(db);
      await sql`
        create table execution_costs (
          workspace_id text not null, execution_id text not null, cost_usd numeric, num_turns integer,
          primary key (workspace_id, execution_id))`.execute(db);
      await sql`create index tool_calls_session on tool_calls (session_id, created_at)`.execute(db);
    },
  },
  '0003_whose': ownershipTables,
  '0004_chain': {
    async up(db) {
      await sql`
        create table call_chain (first_seq bigint primary key, last_seq bigint not null unique, hashes bytea not null)`.execute(
        db,
      );
    },
  },
});
