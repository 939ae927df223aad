import type { Bus } from '@cortex/bus';
import { streamOf, type Wait } from '@cortex/contracts';
import type { Cancellation } from '../seams.js';

/** The shortest pause between two tries: a service that asks for less would be asked in a circle. */
const MIN_PAUSE_MS = 50;
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Resolves when the service is to be asked again: at the first event on `subject` after `after`, at `until`, after `poll_ms`, or when the
 * caller has gone. A plain subscription comes first and the look into the stream second, so that an event in between is not missed.
 */
export async function waitForEvent(bus: Bus, wait: Wait, cancel: Cancellation): Promise<void> {
  const due = Date.parse(wait.until) - Date.now();
  const pause = Math.min(
    Math.max(wait.poll_ms === undefined ? due : Math.min(due, wait.poll_ms), MIN_PAUSE_MS),
    MAX_TIMER_MS,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, pause);
  const subscription = bus.subscribe(wait.subject, () => resolve());
  const look = (): void => {
    bus.direct.next(streamOf(wait.subject), wait.subject, wait.after + 1).then(
      (event) => event !== null && resolve(),
      // Away just now: the subscription is kept, and after the reconnect the stream is looked at again.
      () => undefined,
    );
  };
  const offStatus = bus.onStatus((up) => up && look());
  cancel.onCancel = () => resolve();
  look();
  try {
    const began = performance.now();
    await promise;
    const early = MIN_PAUSE_MS - (performance.now() - began);
    if (early > 0 && !cancel.cancelled) await new Promise((wake) => setTimeout(wake, early));
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
    offStatus();
    cancel.onCancel = undefined;
  }
}
