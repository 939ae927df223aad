/** Null when all is well, else what is wrong and what would mend it. */
export type Check = () => string | null;

/** What a process says on `/ready`: every check of every service in it must be content. */
export class HealthRegistry {
  readonly #checks = new Map<string, Check>();
  #stopping = false;

  /** `name` is `<service>.<thing>`; returns the way to take the check out again. Checks are asked often: read a field. */
  add(name: string, check: Check): () => void {
    this.#checks.set(name, check);
    return () => void (this.#checks.get(name) === check && this.#checks.delete(name));
  }

  /** From here on `/ready` says no, so that no new work is sent here. */
  stopping(): void {
    this.#stopping = true;
  }

  report(): { ready: boolean; checks: Record<string, { ok: boolean; problem?: string }> } {
    const checks: Record<string, { ok: boolean; problem?: string }> = {};
    let ready = !this.#stopping;
    for (const [name, check] of this.#checks) {
      const problem = check();
      checks[name] = problem === null ? { ok: true } : { ok: false, problem };
      if (problem !== null) ready = false;
    }
    if (this.#stopping) checks['process'] = { ok: false, problem: 'stopping' };
    return { ready, checks };
  }
}
