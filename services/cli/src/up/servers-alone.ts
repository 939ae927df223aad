import { join } from 'node:path';
import type { Bus } from '@cortex/bus';
import { natsServerBinary } from '@cortex/embedded/nats-binary';
import { startNats } from '@cortex/embedded/nats';
import { initPostgres, isPostgresDir, startPostgres } from '@cortex/embedded/postgres';
import type { Provisionable } from '@cortex/eventstore';
import type { Secrets } from '@cortex/service-kit';
import { adminUrl, asProvisioner } from '../admin.js';
import { instancesOn } from '../backup/log-streams.js';
import { CliError, EXIT } from '../exit.js';
import { openHome, type Home } from '../home.js';
import { tell } from '../output.js';
import { innerPorts } from '../ports.js';
import { loadDefinitions, writeNatsConfig } from '../provision.js';
import { ensureSecrets, readSecrets } from '../secrets.js';
import { endLeftovers } from './leftovers.js';
import { deployedState, lockHome } from './state.js';

/** Bus and database with nobody at work on them. */
export interface Quiet {
  bus: Bus;
  nats_url: string;
  adminUrl: string;
  secrets: Secrets;
  services: readonly Provisionable[];
  /** The servers are those of a deployment, whose services are given their secrets by somebody else. */
  deployed: boolean;
}

const STOP_MS = 15_000;

/**
 * For what cannot be done under running services. Of a home that is down, the servers are started for it and stopped behind it; `up`
 * is kept out meanwhile. Of a deployment, the services must have been stopped: one that lives is named.
 */
export async function withServersAlone<T>(home: Home, work: (quiet: Quiet) => Promise<T>): Promise<T> {
  const services = await loadDefinitions();
  const deployed = deployedState(process.env);
  if (deployed !== null) {
    const secrets = readSecrets(home);
    return asProvisioner(deployed.nats_url, secrets, async ({ bus }) => {
      await assertNobodyLives(bus);
      const url = adminUrl(deployed, secrets, process.env);
      return work({ bus, nats_url: deployed.nats_url, adminUrl: url, secrets, services, deployed: true });
    });
  }
  openHome(home);
  const unlock = lockHome(home);
  const servers: { stop(graceMs: number): Promise<unknown> }[] = [];
  try {
    await endLeftovers(home, tell);
    const secrets = await ensureSecrets(home);
    writeNatsConfig(home, secrets, services);
    const ports = await innerPorts(home);
    const binary = await natsServerBinary({ dir: home.bin, progress: tell });
    tell('starting bus and database, without services');
    const logFile = (name: string): string => join(home.logs, `${name}.log`);
    const nats = { dir: home.nats, port: ports.nats, configFile: home.natsConfig, binary, logFile: logFile('nats') };
    servers.push(await startNats(nats));
    const { user, password } = secrets.database.admin;
    if (!isPostgresDir(home.postgres)) await initPostgres(home.postgres, password, user);
    const postgres = { dir: home.postgres, port: ports.postgres, logFile: logFile('postgres') };
    servers.push(await startPostgres(postgres));
    const nats_url = `nats://127.0.0.1:${ports.nats}`;
    const url = adminUrl({ database_url: `postgres://127.0.0.1:${ports.postgres}/cortex` }, secrets, {});
    return await asProvisioner(nats_url, secrets, ({ bus }) =>
      work({ bus, nats_url, adminUrl: url, secrets, services, deployed: false }),
    );
  } finally {
    for (const server of servers.reverse()) await server.stop(STOP_MS);
    unlock();
  }
}

async function assertNobodyLives(bus: Bus): Promise<void> {
  const living = await instancesOn(bus.nc);
  if (living.length === 0) return;
  throw new CliError(
    `services are at work: ${living.join(', ')}; stop them, and try again 10 seconds later`,
    EXIT.alreadyRunning,
  );
}
