import { type CortexError, type Outcome, toWireError, type WireError } from '@cortex/contracts';
import type { Refusal } from './call-context.js';

export const denied = (error: CortexError): Refusal => ({
  error: error.toWire(),
  fix: error.fix,
  outcome: 'denied',
});

/** Not tried at all, and for no fault of the caller's. */
export const failed = (error: CortexError): Refusal => ({
  error: error.toWire(),
  fix: error.fix,
  outcome: 'failed',
});

/** The fields of `details` that only this side of the bus has a use for. */
const INTERNAL_DETAILS = ['outcome', 'no_responder', 'code', 'rpc'];

/** What a client sees of any thrown thing: nothing of how the bus is made. */
export function publicError(error: unknown, callId: string): WireError {
  const wire = toWireError(error, callId);
  if (wire.details === undefined) return wire;
  const details = Object.fromEntries(Object.entries(wire.details).filter(([key]) => !INTERNAL_DETAILS.includes(key)));
  const { details: _, ...rest } = wire;
  return Object.keys(details).length === 0 ? rest : { ...rest, details };
}

export function outcomeOf(error: WireError): Outcome {
  if (error.kind === 'cancelled') return 'cancelled';
  if (error.kind === 'deadline_exceeded') return 'timed_out';
  return 'failed';
}

/** A fault as a tool result: the text is all that a model has to recover with, `_meta` is for programs. */
export const faultMembers = (error: WireError): string =>
  `"content":[{"type":"text","text":${JSON.stringify(error.message)}}]`;

export const faultMeta = (error: WireError, call_id: string): Record<string, unknown> => ({
  'cortex/error': { ...error, call_id },
});
