import { EXIT } from '../exit.js';
import { homeOf } from '../home.js';
import { endProcess, isAlive } from '../identity.js';
import { print, printJson, tell } from '../output.js';
import { endLeftovers } from '../up/leftovers.js';
import { lockHome, runningState } from '../up/state.js';

/** Longer than everything that `up` allows for its own stop. */
const LIMIT_MS = 65_000;

export async function down(flags: { home?: string; json?: boolean }): Promise<void> {
  const home = homeOf(flags.home);
  const state = runningState(home);
  if (state !== null) {
    const slow = setTimeout(() => tell('waiting for calls under way to end'), 2_000);
    await endProcess(state.supervisor, 'SIGTERM', LIMIT_MS);
    clearTimeout(slow);
    if (isAlive(state.supervisor)) {
      tell(`pid ${state.supervisor.pid} does not end`);
      process.exitCode = EXIT.failed;
      return;
    }
  }
  // What a supervisor that was killed left behind.
  const unlock = state === null ? tryLock(home) : undefined;
  const ended = unlock === undefined ? 0 : await endLeftovers(home, tell);
  unlock?.();
  const was = state !== null || ended > 0;
  if (flags.json) printJson({ stopped: was, home: home.dir });
  else print(was ? `stopped ${home.dir}` : `${home.dir} was not running`);
}

function tryLock(home: ReturnType<typeof homeOf>): (() => void) | undefined {
  try {
    return lockHome(home);
  } catch {
    return undefined; // no home, or one that somebody else is starting right now
  }
}
