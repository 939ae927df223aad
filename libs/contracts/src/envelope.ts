import { z } from 'zod';
import type { WireError } from './errors.js';

export const ACTOR_KINDS = ['user', 'agent', 'session', 'device', 'external', 'system'] as const;

export const RecordedEvent = z.object({
  type: z.string().min(1),
  version: z.number().int().positive(),
  data: z.unknown(),
});

/** One message of `CORTEX_EVENTS`: 1..n events, atomic because it is one message. Source: architecture, section 11.4. */
export const CommitEnvelope = z.object({
  commit_id: z.string().min(1),
  /** ISO 8601, UTC, milliseconds. */
  at: z.string(),
  actor: z.object({ kind: z.enum(ACTOR_KINDS), id: z.string() }),
  workspace: z.string(),
  session_id: z.string().optional(),
  project: z.string().optional(),
  correlation_id: z.string(),
  causation_id: z.string(),
  traceparent: z.string().optional(),
  events: z.array(RecordedEvent).min(1),
});
export type CommitEnvelope = z.infer<typeof CommitEnvelope>;
export type Actor = CommitEnvelope['actor'];

export interface Principal {
  type: 'user' | 'agent' | 'device' | 'system';
  /** A person's is its `per_` id. */
  id: string;
  roles: string[];
}

/** What the verified token says beside who speaks; never filled from arguments. */
export interface CallScope {
  session_id?: string;
  agent_id?: string;
  space_id?: string;
  conversation_id?: string;
  run_id?: string;
  user_id?: string;
  project?: string;
  channel?: string;
}

/** Body of a request on `cortex.tool.*`, `cortex.query.*` and `cortex.cmd.*`. Source: architecture, section 11.2. */
export interface BusRequest {
  v: 1;
  call_id: string;
  workspace_id: string | null;
  principal: Principal;
  scope: CallScope;
  mode?: string;
  args: Record<string, unknown>;
  approval?: { via: 'human' | 'mode' | 'dial'; id?: string; decided_by?: string; quarantine_override?: boolean };
  resume?: boolean;
  /** The highest `last_seq` this caller was given by this service: a read waits for it. */
  after?: number;
  /** Milliseconds that the caller waits from now on. */
  deadline_ms: number;
  idempotency_key?: string;
  /** SHA-256 of the caller key; with it the commit ids of a keyed command are made. */
  caller?: string;
  /** W3C trace context: a field of the body costs less than a header object. */
  traceparent?: string;
  /** Of `cortex.query.<service>.approval_payload` alone: the tool whose call a person is to approve. */
  tool?: string;
}

export interface Wait {
  subject: string;
  after: number;
  /** ISO time at which the service is asked again in any case. */
  until: string;
  poll_ms?: number;
}

export interface BlobRef {
  object: string;
  sha256: string;
  size: number;
}

/**
 * First line of a framed reply on `cortex.tool.*`, followed by a newline and the bytes of the result
 * (`"content":[...],"structuredContent":{...}`), which the edge splices into its answer without parsing them.
 */
export type ToolReplyHead =
  | {
      ok: true;
      last_seq?: number;
      wait?: Wait;
      blob?: BlobRef;
      /** The result says `isError` though it is whole: a command that ended with another code than 0. */
      is_error?: true;
      /** Entries of `_meta` that the edge adds to its own. */
      meta?: Record<string, unknown>;
    }
  | { ok: false; error: WireError; last_seq?: number };

/** Reply on `cortex.query.*` and `cortex.cmd.*`. */
export type BusReply = { ok: true; data: unknown; last_seq?: number } | { ok: false; error: WireError };
