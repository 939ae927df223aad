export type EmbeddedProblem =
  | 'nats_missing'
  | 'postgres_missing'
  /** Root may not start PostgreSQL, and this machine lets nobody make a user namespace. */
  | 'namespaces_refused'
  | 'start_failed';

/** Match on `code`. The text reads `<thing> <problem>; <fix>`, as every error of Cortex does. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';

  constructor(
    readonly code: EmbeddedProblem,
    problem: string,
    readonly fix: string,
    options?: ErrorOptions,
  ) {
    super(`${problem}; ${fix}`, options);
  }
}
