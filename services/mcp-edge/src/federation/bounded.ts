import type { PendingAnswer } from './client.js';
import type { BackendAnswer } from './types.js';

/** The answer of a backend, or that there was none in so many milliseconds, whatever it streams; a caller that goes takes the request along. */
export async function bounded(pending: PendingAnswer, ms: number, signal: AbortSignal): Promise<BackendAnswer> {
  let late = false;
  const clock = setTimeout(() => {
    late = true;
    pending.abort();
  }, ms);
  const abort = (): void => pending.abort();
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const answer = await pending.answer;
  clearTimeout(clock);
  signal.removeEventListener('abort', abort);
  return late && answer.kind === 'cancelled' ? { kind: 'timeout', afterMs: ms } : answer;
}
