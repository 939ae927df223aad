/** Null when all is well, else what is wrong and what would mend it. */
export type Check = () => string | null | Promise<string | null>;

export interface HealthReport {
  ready: boolean;
  checks: Record<string, { ok: boolean; problem?: string }>;
}

const LIMIT_MS = 2_000;

/** What a process says on `/ready`: every check of every service in it must be content. */
export class HealthRegistry {
  readonly #checks = new Map<string, Check>();
  #stopping = false;

  /** `name` is `<service>.<thing>`; returns the way to take the check out again. One that takes over 2 s has failed. */
  add(name: string, check: Check): () => void {
    this.#checks.set(name, check);
    return () => void (this.#checks.get(name) === check && this.#checks.delete(name));
  }

  /** From here on `/ready` says no, so that no new work is sent here. */
  stopping(): void {
    this.#stopping = true;
  }

  async report(): Promise<HealthReport> {
    const asked = [...this.#checks].map(async ([name, check]) => [name, await problemOf(check)] as const);
    const problems = await Promise.all(asked);
    if (this.#stopping) problems.push(['process', 'stopping']);
    return {
      ready: problems.every(([, problem]) => problem === null),
      checks: Object.fromEntries(
        problems.map(([name, problem]) => [name, problem === null ? { ok: true } : { ok: false, problem }]),
      ),
    };
  }
}

/** What a check says, or that it did not say anything in time. */
export async function problemOf(check: Check): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(resolve, LIMIT_MS, `did not answer within ${LIMIT_MS / 1000} s`);
  try {
    return await Promise.race([check(), promise]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
