/** How many may register in a while, whoever they are: on loopback everybody has the same address. */
export class RegistrationLimit {
  #times: number[] = [];

  constructor(
    private readonly now: () => number = Date.now,
    readonly perMinute = 20,
  ) {}

  /** Seconds to wait, or 0 when one more may. */
  take(): number {
    const now = this.now();
    this.#times = this.#times.filter((at) => at > now - 60_000);
    const [oldest] = this.#times;
    if (oldest !== undefined && this.#times.length >= this.perMinute) return Math.ceil((oldest + 60_000 - now) / 1000);
    this.#times.push(now);
    return 0;
  }
}
