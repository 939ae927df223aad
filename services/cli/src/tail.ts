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

/** What a process said in plain words at its end, after the last line that its logger wrote. */
export function lastWords(file: string): string {
  const lines = tailOf(file, 20).split('\n');
  return lines.slice(lines.findLastIndex((line) => line.startsWith('{')) + 1).join('\n');
}
