import type { Running } from '@cortex/embedded/child';

export interface KeptEvents {
  /** After every start, the first one too. */
  started(running: Running, restarts: number): void;
  /** It ended though nobody asked it to, or could not be started again; the next try comes after `waitMs`. */
  died(why: string, waitMs: number): void;
  /** It said that its configuration is unusable, so it is not started again. */
  refused(): void;
}

/** EX_CONFIG of sysexits; what a service ends with when starting it again would change nothing. */
const BAD_CONFIG = 78;
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 10_000;
/** Whoever lived this long starts the row of waits anew. */
const HEALTHY_MS = 30_000;

/** A process that is started again whenever it ends, ever later while it does not live, until `stop`. */
export class Kept {
  #running: Running | undefined;
  #stopping = false;
  #wake: (() => void) | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(
    readonly name: string,
    private readonly start: () => Promise<Running>,
    private readonly events: KeptEvents,
  ) {}

  /** Throws when the first start fails: that one is for the person at the terminal to mend. */
  async begin(): Promise<void> {
    const first = this.#started(0);
    this.#loop = first.then(
      (running) => this.#keep(running),
      () => undefined,
    );
    await first;
  }

  get running(): Running | undefined {
    return this.#running;
  }

  async #started(restarts: number): Promise<Running> {
    const running = await this.start();
    this.#running = running;
    // Asked to stop while it was starting.
    if (this.#stopping) await running.stop();
    this.events.started(running, restarts);
    return running;
  }

  async #keep(first: Running): Promise<void> {
    let running: Running | undefined = first;
    let wait = FIRST_WAIT_MS;
    for (let restarts = 1; ;) {
      let why = '';
      if (running !== undefined) {
        const began = Date.now();
        const { code, signal } = await running.exited;
        if (this.#stopping) return;
        if (code === BAD_CONFIG) {
          this.#running = undefined;
          return this.events.refused();
        }
        if (Date.now() - began > HEALTHY_MS) wait = FIRST_WAIT_MS;
        why = signal === null ? `ended with code ${code ?? 'none'}` : `was ended by ${signal}`;
        running = undefined;
        this.#running = undefined;
      }
      this.events.died(why, wait);
      await this.#pause(wait);
      if (this.#stopping) return;
      wait = Math.min(wait * 2, LAST_WAIT_MS);
      try {
        running = await this.#started(restarts++);
      } catch (error) {
        this.events.died(error instanceof Error ? error.message : String(error), wait);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Ends it in order, and for good. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#running?.stop(graceMs);
    await this.#loop;
  }
}
