import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceHost } from './host.js';

export interface PeriodicTaskSpec {
  /** What is done, for the log: `prune cost records`. */
  name: string;
  everyMs: number;
  /** Idempotent, since every instance does it. `done` ends it for good. */
  work(signal: AbortSignal): Promise<'done' | void>;
}

/** For work that does not look at its signal. */
const STOP_MS = 1_000;

/**
 * What a service does by itself: once it is ready, and again every so often, one turn after the other. A turn that fails is
 * told in the log and comes again; while the bus is away there is none.
 */
export class PeriodicTask {
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> | undefined;

  constructor(
    private readonly host: ServiceHost,
    private readonly spec: PeriodicTaskSpec,
  ) {
    void host.ready.then(() => {
      if (this.#stop.signal.aborted) return;
      this.#timer = setInterval(() => this.#begin(), spec.everyMs).unref();
      this.#begin();
    });
  }

  /** For `onApplicationShutdown`: no more turns, and the one under way is told to end. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await Promise.race([this.#turn, sleep(STOP_MS, undefined, { ref: false })]);
  }

  #begin(): void {
    if (this.#turn || !this.host.bus.up) return;
    this.#turn = this.#work().finally(() => (this.#turn = undefined));
  }

  async #work(): Promise<void> {
    try {
      if ((await this.spec.work(this.#stop.signal)) === 'done') clearInterval(this.#timer);
    } catch (err) {
      if (!this.#stop.signal.aborted) this.host.log.warn({ err }, `could not ${this.spec.name}; it is tried again`);
    }
  }
}
