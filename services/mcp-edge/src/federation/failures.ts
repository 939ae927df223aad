import { CortexError, type ErrorKind } from '@cortex/contracts';
import { RPC } from '../mcp/envelope.js';
import type { Backend, BackendAnswer } from './types.js';

/** The error of JSON-RPC that a failed call of a backend is answered with. */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
  /** HTTP status where the transport can still say it; 200 without one. */
  status?: number;
  /** All scopes that would have been needed: the route adds the challenge. */
  required_scopes?: readonly string[];
}
type Failure = Exclude<BackendAnswer, { kind: 'result' }>;

/**
 * What became of a call that has no result, in the words of gateway section 7.2; `details.rpc` is the error for the client, the kind is for the
 * record, and `details.outcome` is `unknown` where the backend may have done it. `method` is that of the contract, `told` how text of the
 * backend may be shown.
 */
export function failureOf(
  backend: Backend,
  answer: Failure,
  method: string,
  told: (text: string) => string,
): CortexError {
  switch (answer.kind) {
    case 'refused':
      return refusal(answer, method, told);
    case 'timeout':
      return failure(
        'deadline_exceeded',
        `Backend ${backend.id} timed out after ${answer.afterMs}ms`,
        UNKNOWN,
        UNKNOWN,
      );
    case 'away': {
      const { retryAfterMs, sent } = answer;
      if (!sent) return failure('unavailable', `Backend ${backend.id} unavailable`, { retryAfterMs });
      const message = `Backend ${backend.id} unavailable; the connection broke after the call was sent, and whether it took effect is unknown`;
      return failure('unavailable', message, { retryAfterMs, ...UNKNOWN }, UNKNOWN);
    }
    case 'busy':
      return failure('resource_exhausted', `Backend ${backend.id} is busy`);
    case 'invalid':
      return failure('unavailable', `Backend ${backend.id} sent an invalid response`, undefined, UNKNOWN);
    case 'cancelled':
      return new CortexError(
        'cancelled',
        undefined,
        'the call was cancelled by its caller',
        'call again if it is still wanted',
        {
          details: UNKNOWN,
        },
      );
  }
}

/** The error of JSON-RPC in an error of this file. */
export const rpcErrorOf = (error: CortexError): RpcError | undefined => error.details?.['rpc'] as RpcError | undefined;

/** The record's word for a status of a backend. */
export function kindOf(status: number): ErrorKind {
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 403:
      return 'permission_denied';
    case 404:
      return 'not_found';
    case 409:
      return 'conflict';
    case 429:
      return 'resource_exhausted';
    default:
      return status < 500 ? 'invalid_argument' : 'unavailable';
  }
}

const UNKNOWN = { outcome: 'unknown' };

function refusal(
  { status, error, required, body }: Extract<Failure, { kind: 'refused' }>,
  method: string,
  told: (text: string) => string,
): CortexError {
  const kind = kindOf(status);
  if (status === 401) return failure(kind, 'Backend auth failed — token may have expired');
  if (status === 403 && required !== undefined) {
    const named = (body as { method?: unknown }).method;
    return failure(kind, 'Backend refused scope', { required, method: typeof named === 'string' ? named : method });
  }
  if (status === 403) return failure(kind, 'Backend ACL denied', { reason: error === undefined ? null : told(error) });
  const said = error === undefined ? undefined : told(error);
  // A fence has several lines, so it stands in the data alone.
  const short = said !== undefined && said === error ? `: ${said}` : '';
  const backendError = said === error ? body : { error: said };
  return failure(kind, `Backend ${status}${short}`, { status, backendError: backendError ?? null });
}

/** An error that is told as one of JSON-RPC; `more` are further details for our own side. */
export function failure(
  kind: ErrorKind,
  message: string,
  data?: unknown,
  more: Record<string, unknown> = {},
  as: Pick<RpcError, 'code' | 'status'> = { code: RPC.internal },
): CortexError {
  const rpc: RpcError = { ...as, message, ...(data !== undefined && { data }) };
  return new CortexError(kind, undefined, message, '', { details: { rpc, ...more } });
}
