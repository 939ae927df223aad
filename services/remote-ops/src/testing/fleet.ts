import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startService, type RunningService } from '@cortex/testing';
import type { StartOptions } from '@cortex/testing/start-service';
import { DeviceHub } from '../adapters/device-hub.js';
import { DeviceServer } from '../adapters/device-server.js';
import { RemoteOpsModule } from '../remote-ops.module.js';
import { startDevice, type DeviceProcess } from './device-process.js';

/** A running service with real device clients. */
export interface Fleet extends AsyncDisposable {
  readonly app: RunningService;
  readonly port: number;
  readonly token: string;
  /** A folder for the files of a test. */
  readonly dir: string;
  /** A new home for a client. */
  home(): Promise<string>;
  /** Adds a machine and gives a join code for it. */
  joinCode(name: string): Promise<string>;
  /** Starts a client that joins by a code and waits until it is connected. */
  device(name: string): Promise<DeviceProcess & { home: string }>;
  online(name: string, limitMs?: number): Promise<void>;
  offline(name: string, limitMs?: number): Promise<void>;
}

export async function startFleet(options: StartOptions = {}): Promise<Fleet> {
  const dir = await mkdtemp(join(tmpdir(), 'cortex-fleet-'));
  const app = await startService(RemoteOpsModule, {
    ...options,
    env: { CORTEX_CLIENT_PORT: '0', ...options.env },
  });
  const port = app.get(DeviceServer).port;
  const token = options.env?.['CORTEX_CLIENT_TOKEN'] ?? app.host.secrets!.client_token;
  const devices: DeviceProcess[] = [];
  const home = (): Promise<string> => mkdtemp(join(dir, 'home-'));
  const isOnline = (name: string): boolean => app.get(DeviceHub).isOnline(name);
  const fleet: Fleet = {
    app,
    port,
    token,
    dir,
    home,
    async joinCode(name) {
      await app.ask('cmd', 'add_device', { name, cortex_path: dir });
      return (await app.ask<{ code: string }>('cmd', 'issue_join_code', { name })).code;
    },
    async device(name) {
      const where = await home();
      const device = startDevice({ name, port, token, home: where, joinCode: await fleet.joinCode(name) });
      devices.push(device);
      await fleet.online(name);
      return Object.assign(device, { home: where });
    },
    online: (name, limitMs = 10_000) => eventually(() => isOnline(name), limitMs).then(() => undefined),
    offline: (name, limitMs = 10_000) => eventually(() => !isOnline(name), limitMs).then(() => undefined),
    async [Symbol.asyncDispose]() {
      for (const device of devices) await device[Symbol.asyncDispose]();
      await app[Symbol.asyncDispose]();
      await rm(dir, { recursive: true, force: true });
    },
  };
  return fleet;
}
