import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { showControls } from '@cortex/contracts/text';
import { DEVICE_CLOSE } from '@cortex/contracts/device-wire';
import { CommandRunner } from './commands.js';
import { checked, type ClientConfig } from './config.js';
import { connectOnce, type Ended } from './connection.js';
import { openIdentity } from './identity.js';

export type DeviceStatus =
  | { state: 'connecting'; attempt: number }
  | { state: 'connected' }
  | { state: 'waiting'; seconds: number; reason: string }
  | { state: 'stopped'; reason: string };

export interface DeviceClientOptions extends ClientConfig {
  /** Aborting ends the client in order: what runs for the server is killed. */
  signal?: AbortSignal;
  onStatus?: (status: DeviceStatus) => void;
}

/** Seconds between tries; the last one for ever. */
const BACKOFF_S = [1, 2, 4, 8, 16, 30];

/**
 * Keeps this machine joined to a server until it is told to stop or the server says that coming back is of no use.
 * Resolves to the exit status for the process: 0 when stopped in order, 1 when the name is taken, the key or join code was
 * refused, or another server answers than the one that was joined. Rejects with a CortexError on a bad option.
 */
export async function runDeviceClient(options: DeviceClientOptions): Promise<number> {
  let config: ClientConfig = checked(options);
  const identity = openIdentity(join(config.home, 'config'));
  const runner = new CommandRunner(config.home);
  const signal = options.signal ?? new AbortController().signal;
  const tell = options.onStatus ?? (() => undefined);
  try {
    for (let failures = 0; !signal.aborted;) {
      tell({ state: 'connecting', attempt: failures + 1 });
      const ended = await connectOnce(config, identity, runner, {
        signal,
        onWelcome: () => {
          failures = 0;
          config = { ...config, joinCode: undefined }; // used; the key speaks from now on
          tell({ state: 'connected' });
        },
      });
      if (signal.aborted) break;
      const verdict = judge(ended);
      if (verdict.exit !== undefined) {
        tell({ state: 'stopped', reason: verdict.reason });
        return verdict.exit;
      }
      const seconds = BACKOFF_S[Math.min(failures++, BACKOFF_S.length - 1)]!;
      tell({ state: 'waiting', seconds, reason: verdict.reason });
      await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
    }
    tell({ state: 'stopped', reason: 'stopped' });
    return 0;
  } finally {
    runner.stop();
  }
}

/** Whether to try again, and what to tell the person at the terminal. Source: agent-server, section 20.1. */
function judge({ code, reason: text }: Ended): { exit?: number; reason: string } {
  const reason = showControls(text);
  switch (code) {
    case DEVICE_CLOSE.normal:
      return { exit: 0, reason: reason || 'the server closed the connection' };
    case DEVICE_CLOSE.alreadyConnected:
      return { exit: 1, reason: `a device of this name is connected already; stop it, or use another name` };
    case DEVICE_CLOSE.refused:
      return { exit: 1, reason: `${reason || 'key or join code refused'}; get a code with: cortex device join <name>` };
    case 'wrong_server':
      return {
        exit: 1,
        reason: `${reason}; if the server's key was changed on purpose, remove config/cortex-client.server and join again`,
      };
    case DEVICE_CLOSE.notRegistered:
      return { reason: 'this name is not in machines.json of the server' };
    case DEVICE_CLOSE.goingAway:
      return { reason: 'the server is shutting down' };
    case 'refused':
      return { reason: `the server refused the connection: ${reason}; is the client token right?` };
    case 'unreachable':
    default:
      return { reason: reason || `connection closed (${code})` };
  }
}
