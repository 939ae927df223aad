#!/usr/bin/env node
import { isCortexError } from '@cortex/contracts';
import { runDeviceClient, type DeviceStatus } from './client.js';
import { loadClientConfig } from './config.js';

const HELP = `cortex-client: joins this machine to a Cortex server, so that agents may use it.

Reads config/cortex-client.json below CORTEX_HOME (default ~/.cortex):
  serverHost, serverPort (3002) or serverUrl   where the server listens for devices
  deviceName (this host's name)                the machine's name in machines.json
  clientToken                                  the server's client token
  allowPlaintext                               true lets ws:// leave this machine (VPN, tunnel)
Environment: CORTEX_SERVER_URL, CORTEX_CLIENT_TOKEN, CORTEX_JOIN_CODE (first join only), CORTEX_HOME

Exit status: 0 stopped, 1 refused by the server, 2 bad configuration.
`;

const say = (status: DeviceStatus): void => {
  const text =
    status.state === 'connecting'
      ? null // said by what follows
      : status.state === 'connected'
        ? 'connected'
        : status.state === 'waiting'
          ? `${status.reason}; next try in ${status.seconds} s`
          : status.reason;
  if (text !== null) process.stderr.write(`cortex-client: ${text}\n`);
};

if (process.argv.some((arg) => arg === '--help' || arg === '-h')) {
  process.stdout.write(HELP);
} else {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  try {
    process.exitCode = await runDeviceClient({ ...loadClientConfig(), signal: stop.signal, onStatus: say });
  } catch (error) {
    if (!isCortexError(error)) throw error;
    process.stderr.write(`cortex-client: ${error.message}\n`);
    process.exitCode = 2;
  }
}
