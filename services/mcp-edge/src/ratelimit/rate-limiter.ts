import type { Bus } from '@cortex/bus';
import { BUCKETS, isCortexError } from '@cortex/contracts';
import { type CallerContext, type EdgeLog, HttpRefusal } from '../seams.js';

const WINDOW_MS = 60_000;
/** Callers kept at once; the oldest window goes first. */
const MAX_CALLERS = 10_000;
const LEASE_TRIES = 5;

const keyOf = (hash: string, index: number): string => `${hash.slice(0, 32)}.${index}`;

/** What this replica holds of one caller's permits in the current window. */
interface Window {
  index: number;
  left: number;
  /** The shared count reached the limit. */
  spent: boolean;
  leasing: Promise<void> | undefined;
}

export interface RateLimiterOptions {
  bus: Bus;
  log: EdgeLog;
  perMinute: number;
  disabled?: boolean;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
  onLimited?: () => void;
  /** The shared count could not be reached: this replica applies the whole limit alone. */
  onLocal?: () => void;
}

/**
 * Fixed windows of a minute per caller key, shared by all replicas: permits are leased in blocks from the key-value store, so most requests
 * are decided in memory. Source: gateway, sections 11.3 and 24.4.
 */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();
  readonly #block: number;
  readonly #now: () => number;

  constructor(private readonly options: RateLimiterOptions) {
    this.#block = Math.max(10, Math.ceil(options.perMinute / 20));
    this.#now = options.now ?? Date.now;
  }

  take(caller: CallerContext): HttpRefusal | undefined | Promise<HttpRefusal | undefined> {
    if (this.options.disabled || caller.dev_bypass) return undefined;
    const window = this.#windowOf(caller.caller_hash);
    if (window.left > 0) {
      window.left--;
      // Renewed before it runs out, so that hardly any request waits for a lease.
      if (window.left < this.#block / 4 && !window.spent) void this.#lease(caller.caller_hash, window);
      return undefined;
    }
    if (window.spent) return this.#refuse();
    return this.#leased(caller.caller_hash, window);
  }

  /** How many requests this caller has left in the current minute, for all replicas together; takes none of them. */
  async left(caller: CallerContext): Promise<number> {
    const { disabled, bus, perMinute } = this.options;
    if (disabled || caller.dev_bypass) return Infinity;
    const index = Math.floor(this.#now() / WINDOW_MS);
    const window = this.#windows.get(caller.caller_hash);
    const here = window?.index === index ? window.left : 0;
    try {
      const entry = await bus.kv(BUCKETS.rateLimit.name).get(keyOf(caller.caller_hash, index));
      const taken = entry === null ? 0 : Number(entry.json<{ taken: number }>().taken);
      return Math.max(0, perMinute - taken) + here;
    } catch {
      // What a replica counts alone while the store is away.
      return window?.index === index ? here : perMinute;
    }
  }

  /** A burst may use up a block before all that waited for it had their turn: those lease the next one. */
  async #leased(hash: string, window: Window): Promise<HttpRefusal | undefined> {
    while (window.left <= 0) {
      if (window.spent) return this.#refuse();
      await this.#lease(hash, window);
    }
    window.left--;
    return undefined;
  }

  #windowOf(hash: string): Window {
    const index = Math.floor(this.#now() / WINDOW_MS);
    const known = this.#windows.get(hash);
    if (known?.index === index) return known;
    const window: Window = { index, left: 0, spent: false, leasing: undefined };
    this.#windows.delete(hash);
    this.#windows.set(hash, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > MAX_CALLERS && oldest !== undefined) this.#windows.delete(oldest);
    return window;
  }

  #lease(hash: string, window: Window): Promise<void> {
    window.leasing ??= this.#leaseNow(hash, window).finally(() => (window.leasing = undefined));
    return window.leasing;
  }

  async #leaseNow(hash: string, window: Window): Promise<void> {
    const { bus, perMinute, log } = this.options;
    const key = keyOf(hash, window.index);
    const bucket = bus.kv(BUCKETS.rateLimit.name);
    try {
      for (let attempt = 0; attempt < LEASE_TRIES; attempt++) {
        const entry = await bucket.get(key);
        const taken = entry === null ? 0 : Number(entry.json<{ taken: number }>().taken);
        const granted = Math.min(this.#block, perMinute - taken);
        if (granted <= 0) {
          window.spent = true;
          return;
        }
        const value = JSON.stringify({ taken: taken + granted });
        try {
          await (entry === null ? bucket.create(key, value) : bucket.update(key, value, entry.revision));
        } catch (error) {
          // Another replica leased in between.
          if (isCortexError(error) && error.kind === 'conflict') continue;
          throw error;
        }
        window.left += granted;
        window.spent = taken + granted >= perMinute;
        return;
      }
      throw new Error('the count changed at every try');
    } catch (error) {
      log.warn(
        { error: (error as Error).message },
        'the shared rate limit cannot be reached; this replica counts alone',
      );
      this.options.onLocal?.();
      window.left += perMinute;
      window.spent = true;
    }
  }

  #refuse(): HttpRefusal {
    this.options.onLimited?.();
    const seconds = Math.max(1, Math.ceil((WINDOW_MS - (this.#now() % WINDOW_MS)) / 1000));
    return new HttpRefusal(
      429,
      JSON.stringify({
        jsonrpc: '2.0',
        error: { code: 429, message: 'Rate limit exceeded', data: { limit: this.options.perMinute, per: 'minute' } },
      }),
      { 'Retry-After': String(seconds) },
    );
  }
}
