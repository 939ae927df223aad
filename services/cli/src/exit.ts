/** Exit codes of every command; `cortex --help` lists them. */
export const EXIT = {
  ok: 0,
  /** What was asked for failed: a tool's error, a red test, a service that did not start. */
  failed: 1,
  usage: 2,
  notRunning: 3,
  alreadyRunning: 4,
  portTaken: 5,
  /** Something is missing on this machine: nats-server, PostgreSQL, Node. */
  missing: 6,
} as const;

/** Ends the command with a text for a person, `<thing> <problem>; <fix>`, and an exit code for a script. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Text of any thrown thing; a stack only where it is our own bug. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = error instanceof CliError || ['CortexError', 'EmbeddedError'].includes(error.name);
  if (known) return error.message;
  // Errors of the system and of libraries: some have nothing but a code.
  if ('code' in error) return error.message || String(error.code);
  return error.stack ?? error.message;
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof Error && error.name === 'EmbeddedError') {
    return (error as { code?: string }).code === 'start_failed' ? EXIT.failed : EXIT.missing;
  }
  return EXIT.failed;
}
