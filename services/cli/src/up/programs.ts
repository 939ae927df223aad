import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Home } from '../home.js';

export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Puts a shell script into the `bin` of a home, whole at any moment. Gives its path. */
export function writeProgram(home: Home, name: string, script: string): string {
  const path = join(home.bin, name);
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `#!/bin/sh\n# Written by "cortex up".\n${script}`, { mode: 0o700 });
  renameSync(draft, path);
  return path;
}

/**
 * `cortex` for whoever has the `bin` of this home on the PATH: the launcher of a checkout, else the command line itself. It
 * means this home where no other is named.
 */
export function writeCortexCommand(home: Home): string {
  const launcher = fileURLToPath(new URL('../../../../cortex', import.meta.url));
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const run = existsSync(launcher) ? quoted(launcher) : `${quoted(process.execPath)} ${quoted(main)}`;
  const script = `CORTEX_HOME=\${CORTEX_HOME:-${quoted(home.dir)}}\nexport CORTEX_HOME\nexec ${run} "$@"\n`;
  return writeProgram(home, 'cortex', script);
}
