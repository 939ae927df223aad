import { join } from 'node:path';
import { freePort, isPortFree } from '@cortex/embedded/ports';
import { CliError, EXIT } from '../exit.js';
import { homeOf, openHome, writeJson, type Home } from '../home.js';
import { parsePort } from '../ports.js';
import { readSecrets } from '../secrets.js';
import { lockHome, runningState } from '../up/state.js';

const DEFAULT_PORT = 3213;
const MAX_SLOTS = 64;

/** Where the gateway of one bridge keeps its data, and where it listens. */
export interface Slot extends Disposable {
  home: Home;
  port: number;
}

/**
 * A home below the home for one bridge: clients start one each, and two gateways cannot share an embedded server. The first that nobody uses
 * is taken, so that a bridge that comes alone finds the data of the last one.
 */
export async function takeSlot(home: Home, env: NodeJS.ProcessEnv): Promise<Slot> {
  const shared = ownServers(env);
  for (let n = 1; n <= MAX_SLOTS; n++) {
    const slot = homeOf(join(home.dir, 'stdio', shared ? `shared-${n}` : String(n)));
    const unlock = tryLock(slot);
    if (unlock === undefined) continue;
    try {
      // Its servers know the passwords of the home.
      if (shared) writeJson(slot.secrets, readSecrets(home));
      return { home: slot, port: await portOf(n, env), [Symbol.dispose]: unlock };
    } catch (error) {
      unlock();
      throw error;
    }
  }
  throw new CliError(`${MAX_SLOTS} bridges of home ${home.dir} run already; end some of them`, EXIT.alreadyRunning);
}

function tryLock(slot: Home): (() => void) | undefined {
  openHome(slot);
  let unlock: () => void;
  try {
    // Apart from the lock of the gateway itself, which may outlive a bridge that was killed.
    unlock = lockHome({ ...slot, lock: join(slot.dir, 'run', 'bridge.lock') });
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.alreadyRunning) return undefined;
    throw error;
  }
  if (runningState(slot) === null) return unlock;
  unlock();
  return undefined;
}

/** True with servers of the environment, which belong together: a database holds views of one log. */
function ownServers(env: NodeJS.ProcessEnv): boolean {
  const [nats, database] = [env['CORTEX_NATS_URL'], env['CORTEX_DATABASE_URL']];
  if (Boolean(nats) === Boolean(database)) return Boolean(nats);
  const [set, unset] = nats ? ['CORTEX_NATS_URL', 'CORTEX_DATABASE_URL'] : ['CORTEX_DATABASE_URL', 'CORTEX_NATS_URL'];
  throw new CliError(`${set} is set without ${unset}; set both, or neither for embedded servers`, EXIT.usage);
}

async function portOf(n: number, env: NodeJS.ProcessEnv): Promise<number> {
  const given = env['BRIDGE_GATEWAY_PORT'];
  if (given) {
    const port = parsePort('BRIDGE_GATEWAY_PORT', given);
    if (await isPortFree(port)) return port;
    throw new CliError(`port ${port} is taken; set BRIDGE_GATEWAY_PORT to another one`, EXIT.portTaken);
  }
  const port = DEFAULT_PORT + n - 1;
  return (await isPortFree(port)) ? port : freePort();
}
