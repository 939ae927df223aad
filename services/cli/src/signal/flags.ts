export const STATUSES = ['ok', 'fail', 'progress'] as const;

export interface SignalFlags {
  id: string;
  secret: string;
  status: (typeof STATUSES)[number];
  message?: string;
  member?: string;
  /** As given: `@file`, `-` or the text. */
  data?: string;
  url: string;
  spool: boolean;
}

/** A wrong command line; exit code 2. */
export class SignalUsageError extends Error {}

export const HELP = `cortex-signal: tells a waitpoint that a job has ended, or how far it is.

  --id ID           the waitpoint (default: $CORTEX_SIGNAL_ID)
  --secret SECRET   its secret (default: $CORTEX_SIGNAL_SECRET; arguments can be read by other users of the machine)
  --status STATUS   ok, fail or progress (default: ok)
  --exit-code N     0 is ok, anything else fail, with the message exit=N; --status and --message win
  --message TEXT    one line
  --member NAME     which of several jobs
  --data DATA       @file, - for stdin, or the text
  --url URL         signal endpoint (default: http://127.0.0.1:$WEBHOOK_PORT/webhook/signal)
  --no-spool        fail where the endpoint cannot be reached, instead of leaving a file for the next sweep
  -h, --help        this text

Exit codes: 0 accepted, left in the spool, or the waitpoint is resolved already; 1 refused or failed; 2 wrong usage.
Example: make train; cortex-signal --exit-code $?
`;

const WITH_VALUE = ['id', 'secret', 'status', 'exit-code', 'message', 'member', 'data', 'url'] as const;
type Name = (typeof WITH_VALUE)[number];

/**
 * What the command line says; null: help is wanted. The word behind a flag is its value whatever it looks like, since a
 * message may begin with `--`.
 */
export function readFlags(argv: readonly string[], env: NodeJS.ProcessEnv): SignalFlags | null {
  // Without a word and without a waitpoint in the environment there is nothing to signal; with one, the job is done.
  if (argv.length === 0 && !(env['CORTEX_SIGNAL_ID'] && env['CORTEX_SIGNAL_SECRET'])) return null;
  const given: Partial<Record<Name, string>> = {};
  let spool = true;
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!;
    if (word === '--help' || word === '-h') return null;
    if (word === '--no-spool') {
      spool = false;
      continue;
    }
    const [, flag = '', inline] = /^--([a-z-]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
    const name = WITH_VALUE.find((known) => known === flag);
    if (name === undefined) throw new SignalUsageError(`${word} is no known flag; see cortex-signal --help`);
    const value = inline ?? argv[++i];
    if (value === undefined) throw new SignalUsageError(`--${name} has no value; give one behind it`);
    given[name] = value;
  }
  return complete(given, spool, env);
}

function complete(given: Partial<Record<Name, string>>, spool: boolean, env: NodeJS.ProcessEnv): SignalFlags {
  const id = given.id ?? env['CORTEX_SIGNAL_ID'];
  const secret = given.secret ?? env['CORTEX_SIGNAL_SECRET'];
  if (!id) throw new SignalUsageError('--id is missing; give it, or set CORTEX_SIGNAL_ID');
  if (!secret) throw new SignalUsageError('--secret is missing; give it, or set CORTEX_SIGNAL_SECRET');
  const { 'exit-code': code, member, data } = given;
  if (code !== undefined && !/^-?\d{1,10}$/.test(code)) {
    throw new SignalUsageError(`--exit-code ${code} is no whole number; use $? of the job`);
  }
  const status = statusOf(given.status, code);
  const message = given.message ?? (code === undefined ? undefined : `exit=${Number(code)}`);
  const url = given.url ?? `http://127.0.0.1:${env['WEBHOOK_PORT'] || 3001}/webhook/signal`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new SignalUsageError(`--url ${url} is no http address; leave it out for this machine`);
  }
  return {
    id,
    secret,
    status,
    ...(message !== undefined && { message }),
    ...(member !== undefined && { member }),
    ...(data !== undefined && { data }),
    url,
    spool,
  };
}

function statusOf(given: string | undefined, code: string | undefined): SignalFlags['status'] {
  if (given === undefined) return code === undefined || Number(code) === 0 ? 'ok' : 'fail';
  const known = STATUSES.find((status) => status === given);
  if (known === undefined) throw new SignalUsageError(`--status ${given} is none; use one of ${STATUSES.join(', ')}`);
  return known;
}
