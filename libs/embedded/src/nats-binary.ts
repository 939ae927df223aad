import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment, which } from './child.js';
import { EmbeddedError } from './error.js';

const run = promisify(execFile);

export interface NatsBinaryOptions {
  /** Folder that keeps a fetched binary; default `$CORTEX_TOOLS`, else `$CORTEX_HOME/bin`, else `~/.cortex/bin`. */
  dir?: string;
  /** Told before something that takes seconds. */
  progress?: (text: string) => void;
}

/** Debian's own package is 2.9: everything works on it. Digests: the project's image sources of this release. */
const RELEASE = {
  version: '2.10.29',
  sha256: {
    'linux-amd64': 'e314da74a83a1d3876db8814c27eb990fe729640fd6452025b441bcede8390da',
    'linux-arm64': 'da4b27942ecfb4c5f0c54553d2e7f470ddda9d7581cfe8131b351a0e223ed401',
  } as Record<string, string | undefined>,
};

/** Where a fetched binary is kept. */
export function toolsDir(home = process.env['CORTEX_HOME']): string {
  return process.env['CORTEX_TOOLS'] ?? join(home ? resolve(home) : join(homedir(), '.cortex'), 'bin');
}

/** nats-server as it lies on this machine, without fetching one; null when there is none. */
export function findNatsServer(dir = toolsDir()): string | null {
  for (const name of ['CORTEX_NATS_SERVER', 'TEST_NATS_SERVER']) {
    const named = process.env[name];
    if (!named) continue;
    if (isExecutable(named)) return named;
    throw new EmbeddedError(
      'nats_missing',
      `${name} names no program: ${named}`,
      'set it to the path of nats-server, or unset it',
    );
  }
  const kept = [dir, join(homedir(), '.cortex', 'bin')].map((folder) => join(folder, 'nats-server'));
  return which('nats-server') ?? kept.find(isExecutable) ?? null;
}

/**
 * Path of a nats-server that runs: the one a variable names, on PATH, kept from before, or fetched. Nothing is installed
 * and nothing is started on the way: Debian's package would start a server of its own.
 */
export async function natsServerBinary(options: NatsBinaryOptions = {}): Promise<string> {
  const dir = options.dir ?? toolsDir();
  const found = findNatsServer(dir);
  if (found !== null) return found;
  const progress = options.progress ?? (() => undefined);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const tried: string[] = [];
  for (const [name, fetch] of Object.entries({ apt: fromDebian, Homebrew: fromHomebrew, archive: fromRelease })) {
    const work = join(dir, `.fetch-${randomBytes(4).toString('hex')}`);
    await mkdir(work, { mode: 0o700 });
    try {
      const binary = await fetch(work, progress);
      if (binary === null) continue;
      const target = join(dir, 'nats-server');
      // A copy under another name first: another process may be doing the same, and nobody may run half a file.
      const draft = join(work, 'nats-server.whole');
      await copyFile(binary, draft);
      await chmod(draft, 0o755);
      await rename(draft, target);
      return target;
    } catch (error) {
      tried.push(`${name}: ${shortly(error)}`);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  throw new EmbeddedError(
    'nats_missing',
    `nats-server is not on this machine and could not be fetched${tried.length > 0 ? ` (${tried.join('; ')})` : ''}`,
    'install it, or set CORTEX_NATS_SERVER to its path, or CORTEX_NATS_URL to a server of your own',
  );
}

/** Debian, Ubuntu: the package is downloaded and unpacked, not installed. Needs no root. */
async function fromDebian(work: string, progress: (text: string) => void): Promise<string | null> {
  if (which('apt-get') === null || which('dpkg-deb') === null) return null;
  progress('fetching nats-server with apt-get download');
  const asRoot = process.getuid?.() === 0 ? ['-o', 'APT::Sandbox::User=root'] : [];
  // The machine's package lists, and when they are missing or old a set of our own: those of the machine stay untouched.
  const state = join(work, 'apt');
  const own = ['-o', `Dir::State::lists=${join(state, 'lists')}`, '-o', `Dir::Cache=${join(state, 'cache')}`];
  try {
    await download(work, asRoot);
  } catch {
    progress('fetching package lists with apt-get update');
    await mkdir(join(state, 'lists', 'partial'), { recursive: true });
    await mkdir(join(state, 'cache', 'archives', 'partial'), { recursive: true });
    await apt(work, [...asRoot, ...own, '-o', 'Acquire::Languages=none', 'update']);
    await download(work, [...asRoot, ...own]);
  }
  return unpackedBinary(work);
}

/** The package has put it into either folder over the years. */
function unpackedBinary(work: string): string {
  const [sbin, bin] = ['sbin', 'bin'].map((folder) => join(work, 'unpacked', 'usr', folder, 'nats-server'));
  return isExecutable(sbin ?? '') ? String(sbin) : String(bin);
}

/**
 * Unpacks the first version that runs. Where a machine's sources name several releases the newest may need a newer libc
 * than the machine has.
 */
async function download(work: string, options: readonly string[]): Promise<void> {
  const { stdout } = await run('apt-cache', [...options, 'madison', 'nats-server'], { env: bareEnvironment() });
  const versions = [...new Set(stdout.split('\n').flatMap((line) => line.split('|')[1]?.trim() || []))];
  if (versions.length === 0) throw new Error('no package nats-server in the package lists');
  let problem: unknown;
  for (const version of versions.slice(0, 4)) {
    const unpacked = join(work, 'unpacked');
    await rm(unpacked, { recursive: true, force: true });
    try {
      await apt(work, [...options, 'download', `nats-server=${version}`]);
      const deb = (await readdir(work)).find((name) => name.endsWith('.deb'));
      if (deb === undefined) throw new Error('apt-get download left no package');
      await run('dpkg-deb', ['-x', join(work, deb), unpacked], { env: bareEnvironment() });
      await rm(join(work, deb));
      await run(unpackedBinary(work), ['--version'], { env: bareEnvironment() });
      return;
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}

const apt = (cwd: string, args: readonly string[]) =>
  run('apt-get', ['-q', ...args], {
    cwd,
    timeout: 180_000,
    env: { ...bareEnvironment(), ...proxies(), DEBIAN_FRONTEND: 'noninteractive' },
  });

async function fromHomebrew(_work: string, progress: (text: string) => void): Promise<string | null> {
  const brew = which('brew');
  if (brew === null) return null;
  progress('installing nats-server with Homebrew (it starts nothing)');
  const env = { ...bareEnvironment(), ...proxies(), HOMEBREW_NO_AUTO_UPDATE: '1' };
  await run(brew, ['install', 'nats-server'], { timeout: 600_000, env });
  const { stdout } = await run(brew, ['--prefix', 'nats-server'], { env });
  return join(stdout.trim(), 'bin', 'nats-server');
}

/** The project's release archive, taken only with the digest that stands here. */
async function fromRelease(work: string, progress: (text: string) => void): Promise<string | null> {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  const platform = `${process.platform}-${arch}`;
  const expected = RELEASE.sha256[platform];
  if (expected === undefined) return null;
  const name = `nats-server-v${RELEASE.version}-${platform}`;
  progress(`fetching ${name} from the NATS project's releases`);
  const url = `https://github.com/nats-io/nats-server/releases/download/v${RELEASE.version}/${name}.tar.gz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(180_000) });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== expected) throw new Error(`${name}.tar.gz has another digest than the pinned one`);
  await writeFile(join(work, 'archive.tar.gz'), bytes);
  await run('tar', ['-xzf', 'archive.tar.gz'], { cwd: work, env: bareEnvironment() });
  return join(work, name, 'nats-server');
}

const proxies = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(https?|no|all)_proxy$/i.test(name)));

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function shortly(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string };
  const text = (stderr || message || String(error)).trim();
  return text.slice(text.lastIndexOf('\n') + 1).slice(0, 200);
}
