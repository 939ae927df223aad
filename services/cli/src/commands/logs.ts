import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES } from '@cortex/contracts/services';
import { showControls } from '@cortex/contracts/text';
import { CliError, EXIT } from '../exit.js';
import { homeOf, type Home } from '../home.js';
import { print } from '../output.js';
import { readState } from '../up/state.js';
import { tailOf } from '../tail.js';

export interface LogFlags {
  home?: string;
  follow?: boolean;
  lines: string;
  json?: boolean;
}

export async function logs(service: string | undefined, flags: LogFlags): Promise<void> {
  const home = homeOf(flags.home);
  const count = Number(flags.lines);
  if (!Number.isInteger(count) || count < 0)
    throw new CliError('--lines is no number; use for example 100', EXIT.usage);
  const { names, only } = choose(home, service);
  const show = (name: string, line: string) => {
    const text = flags.json ? line : readable(line);
    // One process holds all services: of a single one only its own lines are wanted.
    if (only !== undefined && serviceOf(line) !== only) return;
    print(names.length > 1 && !flags.json ? `${name.padEnd(10)} ${text}` : text);
  };
  const ends = new Map<string, number>();
  for (const name of names) {
    const file = join(home.logs, `${name}.log`);
    ends.set(name, existsSync(file) ? statSync(file).size : 0);
    const tail = count === 0 ? '' : tailOf(file, only === undefined ? count : count * 20);
    const lines = tail.split('\n').filter((line) => line !== '' && (only === undefined || serviceOf(line) === only));
    for (const line of lines.slice(-count)) show(name, line);
  }
  while (flags.follow) {
    await sleep(200);
    for (const name of choose(home, service).names) {
      const { lines, end } = readFrom(join(home.logs, `${name}.log`), ends.get(name) ?? 0);
      ends.set(name, end);
      for (const line of lines) show(name, line);
    }
  }
}

/** Which files hold what was asked for; a service that shares its process is picked out of the common file. */
function choose(home: Home, service: string | undefined): { names: string[]; only?: string } {
  const files = existsSync(home.logs) ? readdirSync(home.logs) : [];
  const there = files.filter((file) => file.endsWith('.log')).map((file) => file.slice(0, -4));
  const each = readState(home)?.each === true;
  // The trail is asked for by its name: it has a line per request.
  if (service === undefined) return { names: there.filter((name) => name !== TRAIL && (each || !isService(name))) };
  if (isService(service) && !each && there.includes('services')) return { names: ['services'], only: service };
  if (there.includes(service)) return { names: [service] };
  throw new CliError(`no log of ${JSON.stringify(service)}; there are: ${there.join(', ') || 'none yet'}`, EXIT.usage);
}

const TRAIL = 'audit-trail';
const isService = (name: string): boolean => (SERVICES as readonly string[]).includes(name);

/** Whole lines from a position on; a file that was cut is read from its beginning. */
function readFrom(file: string, position: number): { lines: string[]; end: number } {
  if (!existsSync(file)) return { lines: [], end: 0 };
  const size = statSync(file).size;
  const start = size < position ? 0 : position;
  if (size === start) return { lines: [], end: start };
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(size - start, 4 * 1024 * 1024));
    const read = readSync(fd, buffer, 0, buffer.length, start);
    const end = buffer.subarray(0, read).lastIndexOf(10) + 1;
    return { lines: buffer.toString('utf8', 0, end).split('\n').filter(Boolean), end: start + end };
  } finally {
    closeSync(fd);
  }
}

type Entry = Record<string, unknown>;
const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

function parse(line: string): Entry | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return null;
  }
}

const serviceOf = (line: string): unknown => parse(line)?.['service'];

const word = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

/** A JSON line of a service as one that a person reads; others as they are, without what steers a terminal. */
function readable(line: string): string {
  const entry = parse(line);
  if (entry === null) return showControls(line);
  const { time, level, msg, message, service, pid: _pid, hostname: _host, err, ...rest } = entry;
  const stack =
    err === undefined
      ? ''
      : `
  ${word((err as Entry)['stack'] ?? err)}`;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${word(value)}`);
  const at = typeof time === 'number' ? new Date(time).toISOString() : word(time);
  const severity = LEVELS[Number(level)] ?? word(level);
  const words = [at, severity.padEnd(5), word(service), word(msg ?? message), ...fields].filter((part) => part !== '');
  return showControls(words.join(' ') + stack);
}
