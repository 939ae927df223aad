import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { conflict, failedPrecondition, resourceExhausted } from '@cortex/contracts';
import { DEVICE_FILE_LIMIT } from '@cortex/contracts/device-wire';

export interface OpenedFile {
  bytes: Buffer;
  stats: BigIntStats;
}

/** Reads a regular file whole. Never waits on a pipe or a device file, never takes more than the limit into memory. */
export async function readWhole(path: string, limit = DEVICE_FILE_LIMIT): Promise<OpenedFile> {
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat({ bigint: true });
    assertRegular(stats);
    if (stats.size > limit) throw tooLarge(Number(stats.size), limit);
    return { bytes: await readUpTo(handle, limit), stats };
  } finally {
    await handle.close();
  }
}

/** Files of /proc say size 0, and a log may grow while it is read: so the limit counts what comes, not what was said. */
async function readUpTo(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(256 * 1024), 0, 256 * 1024, null);
    if (bytesRead === 0) return Buffer.concat(chunks, size);
    size += bytesRead;
    if (size > limit) throw tooLarge(size, limit);
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

const tooLarge = (size: number, limit: number): Error =>
  resourceExhausted(
    'file_path',
    `has ${size} bytes, limit ${limit}`,
    'search it with remote_grep, or cut it with remote_bash',
  );

export function assertRegular(stats: { isFile(): boolean; isDirectory(): boolean }): void {
  if (stats.isFile()) return;
  const what = stats.isDirectory() ? 'is a folder' : 'is not a regular file';
  throw failedPrecondition('file_path', what, stats.isDirectory() ? 'list it with remote_glob' : 'name a file');
}

/** The file that a path means: links followed to their end, also to an end that is not there yet. */
export async function resolveTarget(path: string): Promise<string> {
  let current = path;
  for (let hops = 0; hops < 40; hops++) {
    try {
      return await realpath(current);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const link = await lstat(current).then(
      (s) => s.isSymbolicLink(),
      () => false,
    );
    if (!link) return current;
    current = resolve(dirname(current), await readlink(current));
  }
  throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
}

/**
 * Makes a folder and those above it. Not by mkdir's own `recursive`: that never ends where a file system answers ENOENT
 * below a folder that exists, as /proc does.
 */
export async function makeFolders(path: string): Promise<void> {
  const missing: string[] = [];
  for (let folder = path; (await statOrNull(folder)) === null; folder = dirname(folder)) missing.push(folder);
  for (const folder of missing.reverse()) {
    await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // somebody made it meanwhile
    });
  }
}

/** Null when there is nothing. */
export const statOrNull = (path: string): Promise<BigIntStats | null> =>
  stat(path, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

/**
 * Puts `bytes` in the place of a file: a reader sees the old or the new one, never a part. `was` is what the file was when
 * it was looked at (null: not there); anything else by now is a conflict, and nothing is changed.
 */
export async function replaceFile(target: string, bytes: Buffer, was: BigIntStats | null): Promise<BigIntStats> {
  const fresh = join(dirname(target), `.${basename(target).slice(0, 200)}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(fresh, 'wx', 0o666);
  try {
    await handle.writeFile(bytes);
    if (was !== null) await keepOwnership(handle, was);
    await handle.sync();
    await handle.close();
    const now = await statOrNull(target);
    if (!same(was, now))
      throw conflict('file_path', 'changed meanwhile', 'read it again', { reason: 'revision_conflict' });
    await rename(fresh, target);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(fresh, { force: true });
    throw error;
  }
  return stat(target, { bigint: true });
}

async function keepOwnership(handle: FileHandle, was: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== was.uid || own.gid !== was.gid) {
    await handle.chown(Number(was.uid), Number(was.gid)).catch(() => undefined); // only root may give files away
  }
  await handle.chmod(Number(was.mode & 0o7777n)); // after chown, which clears the set-id bits
}

const same = (a: BigIntStats | null, b: BigIntStats | null): boolean =>
  a === null || b === null ? a === b : a.mtimeNs === b.mtimeNs && a.size === b.size && a.ino === b.ino;

const busy = new Map<string, Promise<unknown>>();

/** Writes of one client to one file follow each other, so that two edits of it both count. */
export async function oneAtATime<T>(target: string, work: () => Promise<T>): Promise<T> {
  const before = busy.get(target) ?? Promise.resolve();
  const mine = before.then(work, work);
  busy.set(target, mine);
  try {
    return await mine;
  } finally {
    if (busy.get(target) === mine) busy.delete(target);
  }
}
