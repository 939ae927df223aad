import type { Log } from '@cortex/bus';
import { trace } from '@opentelemetry/api';
import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';

/**
 * What JSON leaves as it is and a terminal obeys or hides behind: DEL, C1 controls, line separators, and the marks that
 * turn the direction of text.
 */
const HIDDEN = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** The same JSON text, in which nothing steers a terminal. */
export const escapeHidden = (line: string): string =>
  line.replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * One JSON line per record, on standard error if nothing else is said, with the ids of the active span; never a body of a request or
 * reply (threat T88).
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: escapeHidden },
      mixin() {
        const span = trace.getActiveSpan()?.spanContext();
        return span ? { trace_id: span.traceId, span_id: span.spanId } : {};
      },
    },
    destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

export const busLog =
  (log: Logger): Log =>
  (level, message, fields = {}) =>
    log[level](fields, message);

/** What Nest says of itself: its start-up chatter at debug, its errors as ours. */
export function nestLog(log: Logger): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...more: unknown[]) => {
      const text = message instanceof Error ? message.message : String(message);
      log[level]({ nest: more.at(-1), ...(message instanceof Error && { err: message }) }, text);
    };
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('debug'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('error'),
  };
}
