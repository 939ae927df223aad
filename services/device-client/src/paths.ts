import { homedir } from 'node:os';
import { join, posix, resolve, win32 } from 'node:path';
import { invalidArgument } from '@cortex/contracts';

const windows = process.platform === 'win32';

/** The path as this machine writes it; `/c/x` is `C:\x` on Windows. */
export function absolutePath(path: string, field = 'file_path'): string {
  if (path.includes('\0')) throw invalidArgument(field, 'holds a NUL character', 'remove it');
  if (windows) {
    const drive = /^\/([A-Za-z])(?:\/|$)/.exec(path);
    const native = drive ? `${drive[1]!.toUpperCase()}:\\${path.slice(3)}` : path;
    if (/^[A-Za-z]:[\\/]/.test(native)) return win32.normalize(native);
  } else if (posix.isAbsolute(path)) {
    return posix.resolve(path);
  }
  throw invalidArgument(field, 'must be absolute', 'start it with / or a drive letter');
}

/** A folder or file to search; `~` is the home of the device's user. */
export function searchPath(path: string): string {
  if (path === '~' || path.startsWith('~/')) return resolve(join(homedir(), path.slice(1)));
  return absolutePath(path, 'path');
}
