import { isCortexError } from '@cortex/contracts';
import type { Type } from '@nestjs/common';
import { startProcess, type Runnable, type RunningProcess, type RunOptions } from './process.js';
import type { ServiceDefinition } from './service.js';

/** EX_CONFIG of sysexits: starting again will not help. */
const BAD_CONFIG = 78;

/**
 * One process with one or more services. SIGTERM or SIGINT end it with code 0 after the calls under way (20 s at most);
 * a second signal ends it at once. Code 78: the configuration is unusable, and standard error says all that is wrong with it.
 */
export async function runServices(services: readonly Runnable[], options: RunOptions = {}): Promise<void> {
  const starting = startProcess(services, options);
  let signals = 0;
  const end = (signal: NodeJS.Signals) => {
    if (signals++ > 0) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
    // Also in the middle of the start: what has been announced by then is taken back.
    starting.then(
      async (started) => {
        started.log.info({ signal }, 'stopping');
        await started.stop();
        process.exit(0);
      },
      () => undefined, // told below
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);

  let running: RunningProcess;
  try {
    running = await starting;
  } catch (error) {
    const config = isCortexError(error) && error.kind === 'failed_precondition';
    process.stderr.write(
      config ? `${error.message}\n` : `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(config ? BAD_CONFIG : 1);
  }
  const { log, opsPort } = running;

  // Whatever throws where nobody catches has left things in an unknown state: the supervisor starts a clean process.
  const crash = (error: unknown) => {
    log.fatal({ err: error }, 'crashed');
    process.exit(1);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);

  const names = services.map(({ def }) => def.name);
  if (opsPort !== null) {
    log.info({ port: opsPort }, 'health, ready and metrics');
    tellParent({ cortex: 'ops', port: opsPort });
  }
  await running.ready;
  tellParent({ cortex: 'ready', services: names });
}

/** The launcher, where there is one; that it has gone is no reason to fail. */
function tellParent(message: object): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

export const runService = (module: Type, def: ServiceDefinition, options?: RunOptions): Promise<void> =>
  runServices([{ module, def }], options);
