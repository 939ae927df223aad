import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The ripgrep that npm brought for this platform; null where there is none. */
export function findRipgrep(): string | null {
  const binary = process.platform === 'win32' ? 'rg.exe' : 'rg';
  try {
    // Not by importing `@vscode/ripgrep`: that throws at import on a platform that it does not know.
    const own = createRequire(createRequire(import.meta.url).resolve('@vscode/ripgrep'));
    const path = own.resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/${binary}`);
    return existsSync(path) ? path : null;
  } catch {
    return null;
  }
}
