import { pino } from 'pino';
import { escapeHidden } from './log.js';

/** Where the lines of the audit trail go, one JSON text each: standard output of the process, which has nothing else. */
export interface Lines {
  /** Without a line feed. Never waits, and never fails: what nobody takes is dropped, the newest first, and counted. */
  write(line: string): void;
  readonly dropped: number;
  /** What is still held is written. */
  flush(): void;
}

/** Lines are written together: a call of the system per line would cost more than the line. Less than one write of the destination. */
const TOGETHER_BYTES = 32 * 1024;
const LARGEST_WRITE = 128 * 1024;
const LATEST_MS = 250;
const MOST_BYTES = 16 * 1024 * 1024;

export function standardOutput(): Lines {
  const out = pino.destination({
    dest: 1,
    sync: false,
    minLength: TOGETHER_BYTES,
    maxLength: MOST_BYTES,
    maxWrite: LARGEST_WRITE,
    periodicFlush: LATEST_MS,
  });
  let dropped = 0;
  out.on('drop', () => dropped++);
  // Whoever read it is gone.
  out.on('error', () => dropped++);
  return {
    write: (line) => void out.write(`${escapeHidden(line)}\n`),
    get dropped() {
      return dropped;
    },
    flush() {
      try {
        out.flushSync();
      } catch {
        // Nobody reads it.
      }
    },
  };
}
