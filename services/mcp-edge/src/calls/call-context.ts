import type { ActionClass, BusRequest, Mode, Outcome, WireError } from '@cortex/contracts';
import type { Span } from '@opentelemetry/api';
import type { EdgeTool } from '../catalog/edge-tool.js';
import type { CallInput } from '../seams.js';
import { isoNow } from './ids.js';

/** One call on its way through the gates. What a gate finds out, the next ones and the record read here. */
export interface CallContext {
  readonly input: CallInput;
  readonly call_id: string;
  /** ISO 8601 and `performance.now()` of the beginning. */
  readonly at: string;
  readonly started: number;
  readonly span: Span;
  readonly trace_id: string;
  /** Of the edge's own span; for the service and the record. */
  readonly traceparent: string;

  /** From `resolve tool` on. */
  tool: EdgeTool | undefined;
  /** From `arguments` on: as they will be sent, and the same as JSON text. */
  args: Record<string, unknown>;
  args_json: string;
  workspace: string | null;
  space_id: string | undefined;
  agent_id: string | undefined;

  /** From `conversation mode` on; undefined when there is no conversation, which counts as `chat`. */
  mode: Mode | undefined;
  classes: readonly ActionClass[];
  decision: string | undefined;
  source: string | undefined;
  approval: BusRequest['approval'];
  approved_by: string | undefined;
  remembered_rule: string | undefined;
  /** The fields that both records share, worked out once. */
  record: { fields: string; subject: string } | undefined;
}

/** A call before its first gate. */
export const beginCall = (
  input: CallInput,
  call_id: string,
  span: Span,
  trace_id: string,
  traceparent: string,
): CallContext => ({
  input,
  call_id,
  at: isoNow(),
  started: performance.now(),
  span,
  trace_id,
  traceparent,
  tool: undefined,
  args: {},
  args_json: input.args === undefined ? '{}' : JSON.stringify(input.args),
  workspace: null,
  space_id: undefined,
  agent_id: undefined,
  mode: undefined,
  classes: [],
  decision: undefined,
  source: undefined,
  approval: undefined,
  approved_by: undefined,
  remembered_rule: undefined,
  record: undefined,
});

/** Why a gate does not let a call pass: a tool result with `isError`, or where the protocol has a word for it, an error of JSON-RPC. */
export interface Refusal {
  error: WireError;
  /** The part of its message that says what would make the call pass. */
  fix: string;
  rpc?: { code: number; message: string; data?: unknown; status: number; required_scopes?: readonly string[] };
  /** A refused call is `denied`; one that could not be tried (a service that is away) has failed. */
  outcome: Outcome;
}

export type GateResult = Refusal | undefined | Promise<Refusal | undefined>;
