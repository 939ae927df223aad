import { isCortexError, toWireError, unavailable, type WireError } from '@cortex/contracts';
import type { Logger } from 'pino';

/** SQLSTATE of a PostgreSQL that is going, coming or full. */
const DATABASE = /^(08...|57P0[123]|53300)$/;
/** `pg` gives these no code. */
const DATABASE_TEXT =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;
/** Of any connection: an adapter that knows better says so by an error of its own. */
const SOCKET = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;

/** What cannot be reached, where that is what the error says: the same call may succeed in a moment. */
export function awayIn(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || isCortexError(error)) return undefined;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && DATABASE.test(code)) return 'the database';
  if (typeof code === 'string' && SOCKET.test(code)) return 'a server that it needs';
  return typeof message === 'string' && DATABASE_TEXT.test(message) ? 'the database' : undefined;
}

/**
 * What a caller learns of anything thrown: our own errors as they are, a server that is away as `unavailable`, all else as
 * `internal` with the call's id. The whole of it is in the log given, which names the call.
 */
export function answerOf(error: unknown, callId: string, log: Logger): WireError {
  const away = awayIn(error);
  if (away !== undefined) {
    log.warn({ err: error }, `${away} cannot be reached`);
    return unavailable(undefined, `${away} cannot be reached`, 'try again in a moment').toWire();
  }
  const wire = toWireError(error, callId);
  if (wire.kind === 'internal') {
    log.error({ err: error, cause: isCortexError(error) ? error.cause : undefined }, 'call failed');
  } else if (wire.kind === 'unavailable') {
    log.warn({ cause: (error as Error).cause, problem: wire.message }, 'call failed');
  } else {
    log.debug({ kind: wire.kind, reason: wire.reason, field: wire.field }, 'call refused');
  }
  return wire;
}
