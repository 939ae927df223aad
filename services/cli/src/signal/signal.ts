import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { HELP, readFlags, SignalUsageError, type SignalFlags } from './flags.js';
import { post, type Posted } from './post.js';

export interface Ended {
  code: 0 | 1 | 2;
  out?: string;
  err?: string;
}

/** Bytes of a spool file, and of what the endpoint takes. */
const MOST_BYTES = 64 * 1024;
/** What is recorded of each; more would only be too large to send. */
const DATA_CHARS = 16_000;
const MESSAGE_CHARS = 2_500;
const MEMBER_CHARS = 250;
/** For the key that is sent with it. */
const ROOM_BYTES = 256;

/** The `cortex-signal` command. Source: agent-server, section 19.2. */
export async function signal(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  let flags: SignalFlags | null;
  let body: Record<string, unknown>;
  try {
    flags = readFlags(argv, env);
    if (flags === null) return { code: 0, out: HELP.trimEnd() };
    body = bodyOf(flags);
  } catch (error) {
    if (error instanceof SignalUsageError) return { code: 2, err: error.message };
    throw error;
  }
  const name = `${Date.now()}-${process.pid}-${randomBytes(3).toString('hex')}.json`;
  let posted: Posted;
  try {
    // Should the answer get lost, the file that then goes to the spool is known by the same key.
    posted = await post(flags.url, JSON.stringify({ ...body, dedupe_key: `spool:${name}` }));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    if (!flags.spool) return { code: 1, err: `${flags.url} cannot be reached (${why}); is Cortex up?` };
    return spool(name, body, env, why);
  }
  return endOf(posted, flags.url);
}

function endOf({ status, body }: Posted, url: string): Ended {
  if (status === 202) return { code: 0, out: body['fired'] === true ? 'accepted (waitpoint fired)' : 'accepted' };
  // A late report is no failure of the job.
  if (status === 410) return { code: 0, out: `already resolved (${textOf(body['state'], 'gone')})` };
  return { code: 1, err: `HTTP ${status}: ${textOf(body['error'], `no signal endpoint at ${url}`)}` };
}

const textOf = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

/** As much of the data as fits: what is escaped in JSON takes more room than it has characters. */
function bodyOf(flags: SignalFlags): Record<string, unknown> {
  const { id, secret, status, message, member, data } = flags;
  const text = data === undefined ? undefined : contentOf(data);
  for (let most = DATA_CHARS; ; most = Math.floor(most / 2)) {
    const body = {
      id,
      secret,
      status,
      ...(message !== undefined && { message: message.slice(0, MESSAGE_CHARS) }),
      ...(member !== undefined && { member: member.slice(0, MEMBER_CHARS) }),
      ...(text !== undefined && { data: first(text, most) }),
    };
    if (most === 0 || Buffer.byteLength(JSON.stringify(body)) <= MOST_BYTES - ROOM_BYTES) return body;
  }
}

const contentOf = (data: string): string =>
  data === '-' ? read(0, 'stdin') : data.startsWith('@') ? read(data.slice(1), data.slice(1)) : data;

function first(text: string, most: number): string {
  if (text.length <= most) return text;
  const shown = text.slice(0, Math.max(0, most - 60)).toWellFormed();
  return `${shown}… [cut: ${text.length - shown.length} more characters]`;
}

function read(file: string | 0, name: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SignalUsageError(`--data ${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
}

function spool(name: string, body: Record<string, unknown>, env: NodeJS.ProcessEnv, why: string): Ended {
  const folder = join(env['CORTEX_HOME'] || join(homedir(), '.cortex'), 'tmp', 'signals');
  const path = join(folder, name);
  const text = JSON.stringify(body);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Renamed when it is whole, so that no half of it is ever read.
    writeFileSync(`${path}.tmp`, text, { mode: 0o600, flag: 'wx' });
    renameSync(`${path}.tmp`, path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    return { code: 1, err: `the endpoint cannot be reached (${why}), nor ${folder} be written (${code})` };
  }
  return { code: 0, out: `spooled ${path}` };
}
