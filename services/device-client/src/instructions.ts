import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { InstructionFile } from '@cortex/contracts/device-wire';

const NAMES = ['AGENTS.md', 'AGENTS.local.md'];
const LEVELS = 20;
const BYTES = 200 * 1024;

/**
 * The notes that go with a file: of its folder, of every folder above it, then those of the device's data root. Only
 * regular files, no links: a link of that name could stand for any file (threat T31). What cannot be read is left out.
 */
export async function instructionChain(path: string, home: string): Promise<InstructionFile[]> {
  const places: string[] = [];
  let folder = dirname(path);
  for (let level = 0; level <= LEVELS; level++) {
    places.push(...NAMES.map((name) => join(folder, name)));
    if (dirname(folder) === folder) break;
    folder = dirname(folder);
  }
  const last = join(home, NAMES[0]!);
  const found = await Promise.all([...new Set([...places, last])].map((place) => readNotes(place)));
  return found
    .filter((file) => file !== null)
    .map((file) => (file.path === path ? { ...file, target: true as const } : file));
}

async function readNotes(path: string): Promise<InstructionFile | null> {
  try {
    if (!(await lstat(path)).isFile()) return null;
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const handle = await open(path, flags);
    try {
      const stats = await handle.stat();
      if (!stats.isFile() || stats.size > BYTES) return null;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES), 0, BYTES, 0);
      return { path, content: buffer.subarray(0, bytesRead).toString('utf8'), mtimeMs: stats.mtimeMs };
    } finally {
      await handle.close();
    }
  } catch {
    return null;
  }
}
