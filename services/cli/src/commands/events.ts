import { withAdmin } from '../admin.js';
import { jsonOf, lineOf } from '../events/line.js';
import { endsOf, followLog, readLog, type LogMessage } from '../events/reader.js';
import { CliError, EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { parseDuration } from '../token.js';

export interface EventFlags {
  home?: string;
  follow?: boolean;
  subject?: string;
  since?: string;
  last?: string;
  json?: boolean;
}

/** Without `--since` and `--last`, following begins now. */
export async function events(flags: EventFlags): Promise<void> {
  const subject = flags.subject === undefined ? undefined : checkedSubject(flags.subject);
  const since = flags.since === undefined ? undefined : parseSince(flags.since);
  const last = flags.last === undefined ? undefined : parseLast(flags.last);
  const show = (message: LogMessage) => process.stdout.write(`${flags.json ? jsonOf(message) : lineOf(message)}\n`);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  await withAdmin(homeOf(flags.home), async ({ bus }) => {
    const ends = await endsOf(bus);
    if (!flags.follow || since !== undefined || last !== undefined) {
      await showPast(readLog(bus, ends, { subject, since }), last, show, stop.signal);
    }
    if (flags.follow && !stop.signal.aborted) await followLog(bus, ends, { subject, show, signal: stop.signal });
  });
}

async function showPast(
  log: AsyncGenerator<LogMessage>,
  last: number | undefined,
  show: (message: LogMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  const kept: LogMessage[] = [];
  for await (const message of log) {
    if (signal.aborted) return;
    if (last === undefined) show(message);
    else if (kept.push(message) > last) kept.shift();
  }
  for (const message of kept) show(message);
}

function checkedSubject(text: string): string {
  const tokens = text.split('.');
  const wild = tokens.indexOf('>');
  if (tokens.every((token) => /^[^\s]+$/.test(token)) && (wild === -1 || wild === tokens.length - 1)) return text;
  throw new CliError(`--subject is no pattern: ${JSON.stringify(text)}; use tokens, * and a last >`, EXIT.usage);
}

function parseLast(text: string): number {
  const n = Number(text);
  if (Number.isInteger(n) && n > 0) return n;
  throw new CliError(`--last is no number: ${JSON.stringify(text)}; use for example 20`, EXIT.usage);
}

function parseSince(text: string): string {
  if (/^\d+\s*[smhd]$/.test(text)) return new Date(Date.now() - parseDuration('--since', text) * 1000).toISOString();
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new CliError(`--since is no time: ${JSON.stringify(text)}; use 2026-01-31T12:00:00Z or 10m`, EXIT.usage);
}
