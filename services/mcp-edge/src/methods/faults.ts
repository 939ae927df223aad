import { CortexError, isCortexError, type Reason, type ErrorKind } from '@cortex/contracts';
import { rpcErrorOf } from '../federation/failures.js';
import { RPC } from '../mcp/envelope.js';
import type { CallerContext, Era } from '../seams.js';
import type { MethodFault } from './types.js';

/** Characters of a client's own text that an error gives back. */
const MAX_ECHO = 512;

/** A request that ends in an error of JSON-RPC; thrown inside, an answer outside. */
export class Refused extends Error {
  constructor(readonly fault: MethodFault) {
    super(fault.message);
  }
}

export const refused = (
  code: number,
  message: string,
  more: {
    data?: unknown;
    kind?: ErrorKind;
    reason?: Reason;
    status?: number;
    required_scopes?: readonly string[];
  } = {},
): Refused => {
  const { data, kind = 'invalid_argument', reason, status = 200, required_scopes } = more;
  return new Refused({
    kind: 'error',
    code,
    message,
    status,
    error: { kind, ...(reason && { reason }) },
    ...(data !== undefined && { data }),
    ...(required_scopes && { required_scopes }),
  });
};

export const badParams = (message: string): Refused => refused(RPC.invalidParams, message);

export const unknownPrompt = (name: string): Refused =>
  refused(RPC.invalidParams, `Unknown prompt: ${name.slice(0, MAX_ECHO)}`, { kind: 'not_found' });

/** The code of the older revisions is one that the modern one must not send. */
export const noResource = (uri: string, era: Era): Refused =>
  refused(era === 'modern' ? RPC.invalidParams : RPC.resourceNotFound, 'Resource not found', {
    data: { uri: uri.slice(0, MAX_ECHO) },
    kind: 'not_found',
  });

export const noScope = (required: readonly string[], caller: CallerContext, status: number): Refused =>
  refused(RPC.internal, 'Insufficient scope', {
    data: { required, granted: [...caller.scopes].sort() },
    kind: 'permission_denied',
    reason: 'refused_by_scope',
    status,
    required_scopes: required,
  });

/** What a failed call of a backend is answered with; what is no such failure is thrown on. */
export function faultOf(error: unknown): MethodFault {
  if (error instanceof Refused) return error.fault;
  const rpc = isCortexError(error) ? rpcErrorOf(error) : undefined;
  if (rpc === undefined || !isCortexError(error)) {
    if (isCortexError(error) && error.kind === 'cancelled') return cancelledFault(error);
    throw error;
  }
  const { code, message, data, status = 200 } = rpc;
  return { kind: 'error', code, message, status, error: { kind: error.kind }, ...(data !== undefined && { data }) };
}

const cancelledFault = ({ message, kind }: CortexError): MethodFault => ({
  kind: 'error',
  code: RPC.internal,
  message,
  status: 200,
  error: { kind },
});
