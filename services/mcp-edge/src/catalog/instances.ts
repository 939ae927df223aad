import { BUCKETS } from '@cortex/contracts';
import { Bag, type Bagged } from '@cortex/bus/bag';

const TTL_MS = BUCKETS.nodes.ttl_s * 1000;
/** An instance takes calls a moment before it is seen. Shorter than any restart, or the successor would count as the holder. */
const SEEN_LATE_MS = 300;
/** An instance that leaves in order still finishes what it has; after this it is gone. */
const LEAVING_MS = 30_000;

/** An instance of a service, in milliseconds of `performance.now()`. */
interface Life {
  key: string;
  service: string;
  since: number;
  /** When it counts as dead. */
  until: number;
}

/**
 * Which services have a living instance. The key-value store tells nobody that an entry has expired, so this keeps a clock of its own;
 * the clock stands while the bus is away, because then nobody could have renewed anything.
 */
export class Instances {
  /** By key `<service>.<instance>`. */
  readonly #living = new Map<string, Life>();
  readonly #leaving = new Set<Life>();
  readonly #held = new Bag<Held>();

  /** True when this changed whether the service lives. */
  seen(key: string, now = performance.now()): boolean {
    const service = serviceOf(key);
    const before = this.alive(service);
    const since = this.#living.get(key)?.since ?? now;
    this.#living.set(key, { key, service, since, until: now + TTL_MS });
    return !before;
  }

  /** Left in order. */
  gone(key: string, now = performance.now()): boolean {
    const life = this.#living.get(key);
    if (life === undefined) return false;
    this.#leaving.add({ ...life, until: now + LEAVING_MS });
    this.#living.delete(key);
    return !this.alive(life.service);
  }

  /** True when a service lost its last instance. Tells the calls that may have been lost with those that are dead. */
  expire(now = performance.now()): boolean {
    const dead: Life[] = [];
    let lost = false;
    for (const [key, life] of this.#living) {
      if (life.until > now) continue;
      this.#living.delete(key);
      dead.push(life);
      lost = !this.alive(life.service) || lost;
    }
    for (const life of this.#leaving) {
      if (life.until > now) continue;
      this.#leaving.delete(life);
      dead.push(life);
    }
    if (dead.length > 0) for (const held of this.#held.items()) this.#check(held, dead);
    return lost;
  }

  /**
   * A call that has been sent to a service: `abandoned` is told, once, when every instance that may have taken it is dead; with `early`
   * when the first of them is. NATS tells the caller of a killed instance nothing, so without this a call waits for its whole deadline.
   * Returns the way to let go.
   */
  hold(service: string, abandoned: () => void, { sent = performance.now(), early = false } = {}): () => void {
    const held = { service, sent, early, abandoned, slot: -1 };
    this.#held.add(held);
    return () => this.#held.delete(held);
  }

  #check(held: Held, dead: readonly Life[]): void {
    const mayHave = ({ service, since }: Life): boolean =>
      service === held.service && since <= held.sent + SEEN_LATE_MS;
    if (!dead.some(({ service }) => service === held.service)) return;
    const left = [...this.#living.values(), ...this.#leaving];
    if (held.early ? !dead.some(mayHave) : left.some(mayHave)) return;
    this.#held.delete(held);
    held.abandoned();
  }

  /** After an outage of the bus everybody gets the time to renew again. */
  forgive(now = performance.now()): void {
    for (const life of this.#living.values()) life.until = now + TTL_MS;
  }

  alive(service: string): boolean {
    for (const life of this.#living.values()) if (life.service === service) return true;
    return false;
  }

  /** Whether this one may still be at work on something. */
  lives(key: string): boolean {
    if (this.#living.has(key)) return true;
    for (const life of this.#leaving) if (life.key === key) return true;
    return false;
  }
}

interface Held extends Bagged {
  service: string;
  sent: number;
  early: boolean;
  abandoned: () => void;
}

const serviceOf = (key: string): string => key.slice(0, key.indexOf('.'));

/**
 * What a service answers, or a rejection with `abandoned()` once every instance that may have taken the question is dead: the bus tells
 * nobody of one that was killed with it in hand.
 */
export async function whileAlive<T>(
  instances: Pick<Instances, 'hold'>,
  service: string,
  ask: () => Promise<T>,
  abandoned: () => Error,
): Promise<T> {
  const { promise: dead, reject } = Promise.withResolvers<never>();
  const release = instances.hold(service, () => reject(abandoned()));
  try {
    return await Promise.race([ask(), dead]);
  } finally {
    release();
  }
}
