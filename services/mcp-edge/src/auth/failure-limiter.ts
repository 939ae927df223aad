const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** Failed authentications per address in a fixed window of a minute; bounded, the oldest window goes first. */
export class FailureLimiter {
  readonly #windows = new Map<string, { until: number; failures: number }>();

  constructor(
    private readonly limit: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Seconds to wait, rounded up; 0 when the address may go on. */
  wait(ip: string): number {
    const window = this.#windows.get(ip);
    if (window === undefined || window.failures < this.limit) return 0;
    return Math.max(0, Math.ceil((window.until - this.now()) / 1000));
  }

  count(ip: string): void {
    const now = this.now();
    const window = this.#windows.get(ip);
    if (window && window.until > now) {
      window.failures++;
      return;
    }
    this.#windows.delete(ip);
    this.#windows.set(ip, { until: now + WINDOW_MS, failures: 1 });
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= MAX_ADDRESSES) break;
      this.#windows.delete(oldest);
    }
  }
}
