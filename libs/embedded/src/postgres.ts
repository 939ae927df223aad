import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Child, endsWithParent, saidBy, sizeOf, which, type ChildOptions, type Running } from './child.js';
import { EmbeddedError } from './error.js';
import { postgresBinaries } from './postgres-binaries.js';
import { freePort } from './ports.js';

export interface PostgresOptions extends ChildOptions {
  /** Data folder; `initPostgres` made it. */
  dir: string;
  /** 0 or nothing: a free one. */
  port?: number;
  /** Settings of postgresql.conf, for example `{ fsync: 'off' }` for a test. */
  settings?: Record<string, string>;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  max_connections: '200',
  logging_collector: 'off',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

/**
 * PostgreSQL refuses uid 0, and another user could not reach data below a folder of root's. So for root it runs in a user
 * namespace where the same user has another number: files stay root's, no user is made, the pid is its own.
 */
function asOtherThanRoot(argv: readonly string[]): string[] {
  if (process.getuid?.() !== 0) return [...argv];
  const unshare = which('unshare');
  if (unshare === null) throw namespacesRefused('the program `unshare` is not installed');
  return [unshare, '--user', '--map-user=1000', '--map-group=1000', '--', ...argv];
}

const namespacesRefused = (why: string) =>
  new EmbeddedError(
    'namespaces_refused',
    `PostgreSQL cannot be started by root here: ${why}`,
    'run as another user, allow user namespaces, or set CORTEX_DATABASE_URL to a PostgreSQL server of your own',
  );

function explain(error: unknown, said: string): unknown {
  const refused = /unshare: .*/.exec(said)?.[0];
  return refused === undefined ? error : namespacesRefused(refused);
}

const DRAFT = '.draft-';

/** What an earlier run left that was killed. */
async function removeDrafts(dir: string): Promise<void> {
  const names = await readdir(dirname(dir));
  const drafts = names.filter((name) => name.startsWith(`${basename(dir)}${DRAFT}`));
  await Promise.all(drafts.map((name) => rm(join(dirname(dir), name), { recursive: true, force: true })));
}

/** True when the folder holds a whole database cluster. */
export const isPostgresDir = (dir: string): boolean => existsSync(join(dir, 'PG_VERSION'));

/**
 * Makes a database cluster in `dir` with one superuser; the password travels by a file that only we can read, never by
 * argv. All or nothing: a run that was killed leaves no half-made folder under this name.
 */
export async function initPostgres(dir: string, password: string, user = 'postgres'): Promise<void> {
  const { initdb } = postgresBinaries();
  await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
  await removeDrafts(dir);
  const draft = `${dir}${DRAFT}${randomBytes(4).toString('hex')}`;
  const passwordFile = `${draft}.pw`;
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  try {
    const argv = [
      [initdb, '-D', draft, '-U', user, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`],
      ['-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    ].flat();
    const child = Child.start(asOtherThanRoot(endsWithParent('KILL', argv)), { program: 'initdb' });
    await child.finished(60_000).catch((error: unknown) => {
      throw explain(error, child.said);
    });
    await rename(draft, dir);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

/** Starts the cluster in `dir` on a loopback port and resolves when it takes connections. */
export async function startPostgres(options: PostgresOptions): Promise<Running> {
  const { postgres } = postgresBinaries();
  const port = options.port || (await freePort());
  const settings = { ...SETTINGS, port: String(port), ...options.settings };
  // SIGQUIT ends it at once as a crash does, and it recovers at the next start; a fast stop could wait for a disk.
  const argv = asOtherThanRoot(
    endsWithParent('QUIT', [
      postgres,
      '-D',
      options.dir,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ]),
  );
  const from = sizeOf(options.logFile);
  const child = Child.start(argv, {
    program: 'PostgreSQL',
    cwd: options.dir,
    logFile: options.logFile,
    background: options.background,
  });
  const said = () => saidBy(child, options.logFile, from);
  try {
    await child.ready(() => isReady(options.dir, child.pid), 60_000, said);
  } catch (error) {
    throw explain(error, said());
  }
  return {
    pid: child.pid,
    port,
    exited: child.exited,
    // SIGINT is the fast stop; SIGTERM would wait for every client.
    stop: (graceMs) => child.end('SIGINT', graceMs),
    kill: () => child.end('SIGKILL'),
  };
}

/** PostgreSQL writes its state into the last line of its pid file; a stale file holds another pid. */
async function isReady(dir: string, pid: number): Promise<boolean> {
  const text = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n');
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
}
