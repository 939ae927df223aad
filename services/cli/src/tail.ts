import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const CHUNK = 256 * 1024;

/** The last lines of a file, of its last 256 KiB; empty when there is no such file. */
export function tailOf(file: string, lines: number): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const size = fstatSync(fd).size;
    const start = Math.max(0, size - CHUNK);
    const buffer = Buffer.alloc(size - start);
    readSync(fd, buffer, 0, buffer.length, start);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } finally {
    closeSync(fd);
  }
}
