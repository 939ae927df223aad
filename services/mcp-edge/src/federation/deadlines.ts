import { Bag, type Bagged } from '@cortex/bus/bag';

const LOOK_MS = 25;

/** Something that ends when its time is over, unless it is taken out before. */
export interface Timed extends Bagged {
  /** Milliseconds of `performance.now()`. */
  deadline: number;
  overdue(): void;
}

/** One clock for all calls of a backend that are under way: a timer per call would cost more than the look at each of a few dozen. */
export class Deadlines {
  readonly #timed = new Bag<Timed>();
  #clock: NodeJS.Timeout | undefined;

  add(timed: Timed): void {
    this.#timed.add(timed);
    this.#clock ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
  }

  #look(): void {
    if (this.#timed.size === 0) {
      clearInterval(this.#clock);
      this.#clock = undefined;
      return;
    }
    const now = performance.now();
    for (const timed of this.#timed.items()) if (timed.deadline <= now) timed.overdue();
  }
}
