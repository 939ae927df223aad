import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { CliError, EXIT } from './exit.js';

/** Where everything of one Cortex lies. */
export interface Home {
  dir: string;
  bin: string;
  secrets: string;
  /** Ports that NATS and PostgreSQL were given; kept over restarts. */
  innerPorts: string;
  natsConfig: string;
  machines: string;
  /** Clients of the development issuer and what the owner allowed them. */
  logins: string;
  /** Approved definitions of the backends once more. */
  toolBaseline: string;
  /** What was erased on demand, for backups from before that. */
  erased: string;
  /** What runs now, written by the supervisor. */
  up: string;
  lock: string;
  /** The login code of the running issuer. */
  loginCode: string;
  logs: string;
  /** Lines of the audit trail of all services, turned over like the logs. */
  trail: string;
  /** Compiled code of our own programs: a fifth of their start. */
  compiled: string;
  nats: string;
  postgres: string;
}

/** `--home`, else `CORTEX_HOME`, else `~/.cortex`. */
export function homeOf(dir?: string): Home {
  const root = resolve(dir ?? (process.env['CORTEX_HOME'] || join(homedir(), '.cortex')));
  return {
    dir: root,
    bin: join(root, 'bin'),
    secrets: join(root, 'config', 'secrets.json'),
    innerPorts: join(root, 'config', 'ports.json'),
    natsConfig: join(root, 'config', 'nats.conf'),
    machines: join(root, 'config', 'machines.json'),
    logins: join(root, 'config', 'logins.json'),
    toolBaseline: join(root, 'config', 'tool-baseline.json'),
    erased: join(root, 'config', 'erased.json'),
    up: join(root, 'run', 'up.json'),
    lock: join(root, 'run', 'up.lock'),
    loginCode: join(root, 'run', 'login-code'),
    logs: join(root, 'logs'),
    trail: join(root, 'logs', 'audit-trail.log'),
    compiled: join(root, 'run', 'compiled'),
    nats: join(root, 'data', 'nats'),
    postgres: join(root, 'data', 'postgres'),
  };
}

/** Makes what is missing of the home; its folders are for its owner alone. */
export function openHome(home: Home): void {
  try {
    for (const folder of ['', 'bin', 'config', 'run', 'logs', 'data']) {
      const path = join(home.dir, folder);
      makeFolders(path);
      if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
    }
  } catch (cause) {
    const why = (cause as Error).message;
    throw new CliError(`home ${home.dir} cannot be used: ${why}; choose another with --home`, EXIT.failed, { cause });
  }
}

/** Not by mkdir's own `recursive`: that never ends where a file system answers ENOENT below a folder that exists, as /proc does. */
function makeFolders(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder); folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // somebody made it meanwhile
    }
  }
}

/** The JSON in a file, or null when there is no such file. */
export function readJson<T>(file: string): T | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw new CliError(`${file} is no JSON; mend or remove it`, EXIT.failed, { cause });
  }
}

/** Replaces a file whole, so that a reader meets the old or the new one; for its owner alone. */
export function writePrivate(file: string, text: string): void {
  const draft = `${file}.${process.pid}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

export const writeJson = (file: string, value: unknown): void =>
  writePrivate(file, `${JSON.stringify(value, null, 2)}\n`);
