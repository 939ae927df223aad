import { fileURLToPath } from 'node:url';
import type { Home } from '../home.js';
import { quoted, writeProgram } from './programs.js';

/**
 * Puts `cortex-signal` into the home: a program that jobs can name by its path, that needs neither npm nor a PATH, and that
 * knows this home and the port of its signal route.
 */
export function writeSignalCommand(home: Home, webhookPort: number): string {
  const main = fileURLToPath(new URL('../signal-main.js', import.meta.url));
  return writeProgram(
    home,
    'cortex-signal',
    `# It signals the waitpoints of this home; see --help.
CORTEX_HOME=${quoted(home.dir)} WEBHOOK_PORT=\${WEBHOOK_PORT:-${webhookPort}}
export CORTEX_HOME WEBHOOK_PORT
exec ${quoted(process.execPath)} ${quoted(main)} "$@"
`,
  );
}
