const FAILURES = 5;
const PAUSE_MS = 15_000;

/** What a breaker says to one who wants to call: go, go as the one trial, or how long to stay away. */
export type Leave = { go: true; trial: boolean } | { go: false; retryAfterMs: number };

/**
 * Keeps calls away from a backend that is broken: after 5 failures in a row for 15 s, then one trial decides. Pure but for the clock that it is
 * given. Source: gateway, section 13.6.
 */
export class Breaker {
  #failures = 0;
  /** Milliseconds of the clock; undefined while closed. */
  #openUntil: number | undefined;
  #trying = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  get open(): boolean {
    return this.#openUntil !== undefined;
  }

  ask(): Leave {
    if (this.#openUntil === undefined) return { go: true, trial: false };
    const rest = this.#openUntil - this.now();
    if (rest > 0) return { go: false, retryAfterMs: Math.ceil(rest) };
    // The answer to the trial is awaited by nobody else.
    if (this.#trying) return { go: false, retryAfterMs: 1_000 };
    this.#trying = true;
    return { go: true, trial: true };
  }

  /** It answered: with whatever it says, it is there. */
  succeeded(): void {
    this.#failures = 0;
    this.#openUntil = undefined;
    this.#trying = false;
  }

  /** A network error, a timeout or a 5xx. */
  failed(): void {
    this.#failures++;
    this.#trying = false;
    if (this.#failures >= FAILURES) this.#openUntil = this.now() + PAUSE_MS;
  }

  /** The trial ended without saying anything about the backend (its caller went away): the next call is the trial. */
  undecided(trial: boolean): void {
    if (trial) this.#trying = false;
  }
}
