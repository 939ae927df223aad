import { isCortexError, toWireError, unavailable, type WireError } from '@cortex/contracts';
import type { Logger } from 'pino';

/** SQLSTATE classes and codes, and socket errors, that say "not now" rather than "never". */
const AWAY = /^(08...|57P0[123]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
/** `pg` gives these no code. */
const AWAY_TEXT =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

/** True when PostgreSQL is away or going: the same call may succeed in a moment. */
export function databaseAway(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return (typeof code === 'string' && AWAY.test(code)) || (typeof message === 'string' && AWAY_TEXT.test(message));
}

/**
 * What a caller learns of anything thrown: our own errors as they are, a database that is away as `unavailable`, all else as
 * `internal` with the call's id. The whole of it is in our log, under the same id.
 */
export function answerOf(error: unknown, callId: string, log: Logger): WireError {
  if (databaseAway(error)) {
    log.warn({ err: error, call_id: callId }, 'the database is away');
    return unavailable(undefined, 'the database cannot be reached', 'try again in a moment').toWire();
  }
  const wire = toWireError(error, callId);
  if (wire.kind === 'internal') {
    log.error({ err: error, cause: isCortexError(error) ? error.cause : undefined, call_id: callId }, 'call failed');
  } else if (wire.kind === 'unavailable') {
    log.warn({ call_id: callId, cause: (error as Error).cause, problem: wire.message }, 'call failed');
  } else {
    log.debug({ call_id: callId, kind: wire.kind, reason: wire.reason, field: wire.field }, 'call refused');
  }
  return wire;
}
