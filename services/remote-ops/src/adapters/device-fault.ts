import { CortexError, ERROR_KINDS, REASONS, type ErrorKind, type Reason } from '@cortex/contracts';
import { firstChars, showControls } from '@cortex/contracts/text';
import type { FailureReason } from '../command/command.decider.js';

/** A command that got no result; `details.failure` says why in the word of the event. */
export function deviceFault(device: string, failure: FailureReason, cause: string): CortexError {
  const details = { device, failure };
  switch (failure) {
    case 'timeout':
      return new CortexError(
        'deadline_exceeded',
        'device',
        `${device} did not answer in time (${cause})`,
        'look at the device before you repeat it',
        { reason: 'timeout', details },
      );
    case 'cancelled':
      return new CortexError('cancelled', 'device', `${device} was told to stop the command`, '', { details });
    case 'send_failed':
      return new CortexError(
        'unavailable',
        'device',
        `${device} could not be sent the command (${cause}), nothing was run`,
        'try again',
        { reason: 'device_offline', details },
      );
    case 'offline':
    case 'disconnected':
    case 'heartbeat_timeout':
      return new CortexError(
        'unavailable',
        'device',
        `${device} was lost before it answered (${cause}), so how far the command came is not known`,
        'look at the device before you repeat it',
        { reason: 'device_offline', details },
      );
    case 'device_error':
      return new CortexError(
        'unavailable',
        'device',
        `${device} answered what is no result (${cause})`,
        'update its client',
        { details },
      );
  }
}

/** Kinds that a device may give its own failures; anything else it says is taken as a plain failure. */
const TOLD: readonly ErrorKind[] = ERROR_KINDS.filter(
  (kind) => kind !== 'unauthenticated' && kind !== 'internal' && kind !== 'unavailable' && kind !== 'cancelled',
);
const TEXT_CHARS = 2_000;

/** What a device answered instead of data. Its words come from outside: bounded, control characters shown. */
export function deviceError(device: string, frame: Record<string, unknown>): CortexError {
  const { error, kind, reason, field, details } = frame;
  const told = TOLD.find((known) => known === kind) ?? 'failed_precondition';
  const text = showControls(
    firstChars(typeof error === 'string' && error !== '' ? error : 'the device gave no reason', TEXT_CHARS),
  );
  const known = (REASONS[told] as readonly string[]).find((word) => word === reason) as Reason | undefined;
  const fault = new CortexError(
    told,
    typeof field === 'string' && /^[\w-]{1,40}$/.test(field) ? field : undefined,
    text,
    '',
    {
      ...(known && { reason: known }),
      details: { ...numbersOf(details), device, failure: 'device_error' },
    },
  );
  fault.message = text;
  return fault;
}

/** Of a device's details only numbers are of use (line counts and the like). */
function numbersOf(details: unknown): Record<string, number> {
  if (typeof details !== 'object' || details === null) return {};
  const entries = Object.entries(details).filter(
    ([name, value]) => /^[a-z_]{1,40}$/.test(name) && typeof value === 'number',
  );
  return Object.fromEntries(entries.slice(0, 10)) as Record<string, number>;
}

export const failureOf = (error: CortexError): FailureReason =>
  (error.details?.['failure'] as FailureReason | undefined) ??
  (error.kind === 'cancelled' ? 'cancelled' : 'device_error');
