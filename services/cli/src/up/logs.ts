import { copyFileSync, readdirSync, renameSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const LIMIT = 64 * 1024 * 1024;

/**
 * Keeps a log file and one older one. While it is being written to it is copied and cut, which its writer, who appends, does
 * not notice; what is written in between is lost.
 */
export function rotateLogs(dir: string, inUse: boolean): void {
  for (const name of readdirSync(dir).filter((file) => file.endsWith('.log'))) {
    const file = join(dir, name);
    if (statSync(file).size < LIMIT) continue;
    if (inUse) {
      copyFileSync(file, `${file}.1`);
      truncateSync(file);
    } else {
      renameSync(file, `${file}.1`);
    }
  }
}
