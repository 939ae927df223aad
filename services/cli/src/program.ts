import { Command } from 'commander';
import { backup } from './program/backup.js';
import { baseline } from './program/baseline.js';
import { budget } from './program/budget.js';
import { checkout } from './program/checkout.js';
import { clients } from './program/clients.js';
import { deployment } from './program/deployment.js';
import { device } from './program/device.js';
import { gaps } from './program/gaps.js';
import { lifecycle } from './program/lifecycle.js';
import type { Make, With } from './program/make.js';
import { memory } from './program/memory.js';
import { projections } from './program/projections.js';
import { session } from './program/session.js';
import { signal } from './program/signal.js';
import { strict } from './program/strict.js';
import { tools } from './program/tools.js';
import { trail } from './program/trail.js';
import { workspace } from './program/workspace.js';
import { version } from './version.js';

const EXIT_CODES = `
Exit codes: 0 done; 1 failed (a tool's error, a red test, a service that did not start); 2 wrong usage;
3 the home is not running; 4 it is running already; 5 a port is taken; 6 something is missing on this machine.
`;

/** One file each, in the order in which the help shows them. */
const TOPICS: readonly ((cortex: Command, command: Make, json: With) => void)[] = [
  lifecycle,
  deployment,
  projections,
  backup,
  tools,
  clients,
  trail,
  gaps,
  baseline,
  workspace,
  session,
  memory,
  device,
  budget,
  signal,
  checkout,
];

/** The whole command line. What a command does is loaded when it is called, so that none pays for the others. */
export function program(): Command {
  const cortex = new Command('cortex')
    .description('One MCP endpoint backed by event-sourced services: starts it, watches it, talks to it.')
    .version(version, '-V, --version')
    .addHelpText('after', EXIT_CODES)
    .configureHelp({ showGlobalOptions: true });
  const command: Make = (parent, name, description) =>
    parent
      .command(name)
      .description(description)
      .option('--home <dir>', 'data folder (default: $CORTEX_HOME, else ~/.cortex)');
  const json: With = (to) => to.option('--json', 'answer as JSON');
  for (const topic of TOPICS) topic(cortex, command, json);
  return strict(cortex);
}
