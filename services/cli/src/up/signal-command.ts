import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Home } from '../home.js';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Puts `cortex-signal` into the home: a program that jobs can name by its path, that needs neither npm nor a PATH, and that
 * knows this home and the port of its signal route.
 */
export function writeSignalCommand(home: Home, webhookPort: number): string {
  const main = fileURLToPath(new URL('../signal-main.js', import.meta.url));
  const path = join(home.bin, 'cortex-signal');
  const draft = `${path}.${process.pid}.new`;
  const script = `#!/bin/sh
# Written by "cortex up"; see --help. It signals the waitpoints of this home.
CORTEX_HOME=${quoted(home.dir)} WEBHOOK_PORT=\${WEBHOOK_PORT:-${webhookPort}}
export CORTEX_HOME WEBHOOK_PORT
exec ${quoted(process.execPath)} ${quoted(main)} "$@"
`;
  writeFileSync(draft, script, { mode: 0o700 });
  chmodSync(draft, 0o700);
  renameSync(draft, path);
  return path;
}
