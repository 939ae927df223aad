import { defineMigrations } from '@cortex/eventstore';
import { sql, type Generated } from 'kysely';
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

export interface AuditDb {
  tool_calls: ToolCallRow;
  requests: RequestRow;
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
});
