import { Bag, type Bagged } from '@cortex/bus/bag';
import {
  cancelled,
  deadlineExceeded,
  isCortexError,
  resourceExhausted,
  unavailable,
  type CortexError,
} from '@cortex/contracts';

/** Above this many at once a service refuses: what it cannot finish it should not queue. */
const LIMIT = 1024;
const SWEEP_MS = 100;

/** One call that is being worked on. */
export class Flight implements Bagged {
  slot = -1;
  #controller: AbortController | undefined;
  #end: CortexError | undefined;
  /** Set by whoever waits for the handler, to stop waiting. */
  onEnd: ((reason: CortexError) => void) | undefined;

  constructor(
    readonly callId: string,
    /** `performance.now()`. */
    readonly deadline: number,
  ) {}

  /** Made at its first use: most handlers never ask for it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#end) this.#controller.abort(this.#end);
    }
    return this.#controller.signal;
  }

  /** For any reason, also one that is not ours to tell a caller. */
  abort(reason: unknown): void {
    this.end(isCortexError(reason) ? reason : cancelled(undefined, 'the work was stopped', 'it will be done again'));
  }

  end(reason: CortexError): void {
    if (this.#end) return;
    this.#end = reason;
    this.#controller?.abort(reason);
    this.onEnd?.(reason);
  }
}

/** All calls of one service: bounded, one timer for every deadline, awaited when the service stops. */
export class InFlight {
  readonly #flights = new Bag<Flight>();
  #timer: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  get size(): number {
    return this.#flights.size;
  }

  begin(callId: string, deadlineMs: number): Flight {
    if (this.#flights.size >= LIMIT) {
      throw resourceExhausted(undefined, `more than ${LIMIT} calls are under way`, 'try again in a moment');
    }
    const flight = new Flight(callId, performance.now() + deadlineMs);
    this.#flights.add(flight);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return flight;
  }

  /** When its handler has settled, which may be after its caller was answered. */
  done(flight: Flight): void {
    this.#flights.delete(flight);
    if (this.#flights.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** By the caller's wish. Several tries of one call may be here at once. */
  cancel(callId: string): void {
    for (const flight of this.#flights.items()) {
      if (flight.callId === callId)
        flight.end(cancelled(undefined, 'the call was cancelled', 'call again if it is still wanted'));
    }
  }

  /** Resolves when nothing is under way; after `graceMs` the rest is told to end. True when all had ended by themselves. */
  async drain(graceMs: number): Promise<boolean> {
    if (await this.#emptyWithin(graceMs)) return true;
    const reason = unavailable(
      undefined,
      'the service stopped before the call had ended',
      'look whether it took effect, then try again',
    );
    for (const flight of this.#flights.items()) flight.end(reason);
    await this.#emptyWithin(1_000);
    return false;
  }

  #emptyWithin(ms: number): Promise<boolean> {
    if (this.#flights.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  #sweep(): void {
    const now = performance.now();
    for (const flight of this.#flights.items()) {
      if (flight.deadline <= now) {
        flight.end(
          deadlineExceeded(
            undefined,
            'the call took longer than its deadline',
            'look whether it took effect, then try again',
            {
              reason: 'timeout',
            },
          ),
        );
      }
    }
  }
}
