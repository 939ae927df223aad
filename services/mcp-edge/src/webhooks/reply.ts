import { type ErrorKind, type WireError } from '@cortex/contracts';
import type { CallOutcome } from '../seams.js';

/** What a route answers with; `body` becomes JSON. */
export interface Reply {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

export const succeeded = (data: unknown): Reply => ({ status: 200, body: { success: true, data } });

type Fault = Pick<WireError, 'kind' | 'message' | 'reason' | 'field' | 'details'>;

/** A request that could be read is answered with 200 whatever came of it; other statuses are faults of the transport. */
export const refused = ({ kind, message, reason, field, details }: Fault, status = 200): Reply => ({
  status,
  body: { success: false, error: message, kind, reason, field, details },
});

export const transportFault = (
  status: number,
  kind: ErrorKind,
  message: string,
  headers: Record<string, string> = {},
): Reply => ({ ...refused({ kind, message }, status), headers });

interface Members {
  content?: unknown[];
  structuredContent?: unknown;
}

/**
 * The outcome of a tool call in the envelope: `data` is the JSON that the tool's page calls its result. With `whole` the blocks for a model
 * stand beside it, since an image is nowhere else; a command that ran and failed has `isError` there.
 */
export function replyOf(outcome: CallOutcome, { whole }: { whole: boolean }): Reply {
  if (outcome.kind === 'error') return refused(outcome.error);
  const fault = outcome.meta?.['cortex/error'] as Fault | undefined;
  if (fault !== undefined) return refused(fault);
  const { members, is_error } = outcome;
  const text = typeof members === 'string' ? members : Buffer.from(members).toString('utf8');
  const { content, structuredContent } = JSON.parse(`{${text}}`) as Members;
  const body = { success: true, data: structuredContent ?? null };
  return { status: 200, body: whole ? { ...body, content, ...(is_error && { isError: true }) } : body };
}
