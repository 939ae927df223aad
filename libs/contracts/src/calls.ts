import type { ErrorKind } from './errors.js';

export const OUTCOMES = ['succeeded', 'failed', 'denied', 'cancelled', 'timed_out'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Source: architecture, section 11.5, and gateway, section 20. One JSON object per message of `CORTEX_CALLS`. */
export interface CallStarted {
  type: 'ToolCallStarted';
  call_id: string;
  /** ISO 8601. */
  at: string;
  /** Exposed name. */
  tool: string;
  service: string;
  target_app: string;
  caller_sub: string;
  client_id: string;
  session_id?: string;
  workspace?: string;
  /** First 16 hex digits of the HMAC-SHA-256 of the JSON arguments as they came. */
  params_hash: string | null;
  args_bytes: number;
  transport: 'http' | 'sse' | 'loopback' | 'bus';
  era: 'modern' | 'legacy';
  trace_id?: string;
  /** Milliseconds after `at` when a Started without Finished counts as interrupted. */
  deadline_ms: number;
}

/** Fields of gateway section 20 that every record has where they are known. */
export interface Attribution {
  caller_role?: string;
  caller_pool?: string;
  caller_email_hash?: string;
  scope_used?: string;
  error_code?: string;
  protocol_version?: string;
  origin?: string;
  mcp_session_id?: string;
  dev_bypass?: boolean;
  request_id?: string;
  replica?: string;
  catalog_version?: number;
  /** Of a federated tool: its name at the backend, and how the backend was spoken to. */
  tool_original?: string;
  token_mode?: string;
  confirmation?: string;
  /** Of a call that runs as an MCP task, or in several rounds. */
  task_id?: string;
  round?: number;
}

export interface CallFinished extends Omit<CallStarted, 'type' | 'at'>, Attribution {
  type: 'ToolCallFinished';
  /** When the call began; `finished_at` is when it ended. */
  at: string;
  finished_at: string;
  outcome: Outcome;
  error_kind?: ErrorKind;
  reason?: string;
  /** The gate that refused. */
  gate?: string;
  mode?: string;
  decision?: string;
  source?: string;
  classes: string[];
  approved_by?: string;
  remembered_rule?: string;
  duration_ms: number;
  result_bytes: number;
  cost_usd?: number;
}

/** Every other authenticated request: `cortex.call.mcp-edge._request`. */
export interface RequestRecord extends Attribution {
  type: 'RequestRecorded';
  call_id: string;
  at: string;
  method: string;
  /** Backend that served it, where there is one. */
  target_app?: string;
  caller_sub: string;
  client_id: string;
  session_id?: string;
  params_hash: string | null;
  outcome: Outcome;
  error_kind?: ErrorKind;
  reason?: string;
  gate?: string;
  duration_ms: number;
  result_bytes: number;
  transport: 'http' | 'sse' | 'loopback' | 'bus';
  era: 'modern' | 'legacy';
  trace_id?: string;
  /** The next four of `tools/list` alone. */
  tools_listed?: number;
  tokens_estimate?: number;
  backends_filter?: string;
  tool_mode?: string;
}

/** A refused authentication: `cortex.call.mcp-edge._auth_failure`. Without a byte of the token. */
export interface AuthFailureRecord {
  type: 'AuthenticationRefused';
  call_id: string;
  at: string;
  reason: string;
  ip_hash: string;
  origin?: string;
  request_id?: string;
  trace_id?: string;
}

export type CallRecord = CallStarted | CallFinished | RequestRecord | AuthFailureRecord;
