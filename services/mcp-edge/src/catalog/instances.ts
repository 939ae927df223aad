import { BUCKETS } from '@cortex/contracts';

const TTL_MS = BUCKETS.nodes.ttl_s * 1000;

/**
 * Which services have a living instance. The key-value store tells nobody that an entry has expired, so this keeps a clock of its own;
 * the clock stands while the bus is away, because then nobody could have renewed anything.
 */
export class Instances {
  /** Key `<service>.<instance>` to the moment, in milliseconds of `performance.now()`, when it counts as dead. */
  readonly #until = new Map<string, number>();

  /** True when this changed whether the service lives. */
  seen(key: string, now = performance.now()): boolean {
    const service = serviceOf(key);
    const before = this.alive(service);
    this.#until.set(key, now + TTL_MS);
    return !before;
  }

  gone(key: string): boolean {
    return this.#until.delete(key) && !this.alive(serviceOf(key));
  }

  /** True when a service lost its last instance. */
  expire(now = performance.now()): boolean {
    let lost = false;
    for (const [key, until] of this.#until) if (until <= now) lost = this.gone(key) || lost;
    return lost;
  }

  /** After an outage of the bus everybody gets the time to renew again. */
  forgive(now = performance.now()): void {
    for (const key of this.#until.keys()) this.#until.set(key, now + TTL_MS);
  }

  alive(service: string): boolean {
    for (const key of this.#until.keys()) if (serviceOf(key) === service) return true;
    return false;
  }
}

const serviceOf = (key: string): string => key.slice(0, key.indexOf('.'));
