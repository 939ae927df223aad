import type { Log } from '@cortex/bus';
import { consumersOf, provisionBus, provisionDatabase, type Provisionable } from '@cortex/eventstore';
import { connectAdmin } from '@cortex/eventstore/connect-admin';
import type { Secrets } from '@cortex/service-kit';
import { asProvisioner } from './admin.js';
import type { ProvisionSecrets } from './deploy/secrets.js';
import { writePrivate, type Home } from './home.js';
import { loadServices } from './services.js';
import { natsConfig } from './up/nats-config.js';

export interface ProvisionTarget {
  nats_url: string;
  /** With the credentials of somebody who may make roles. */
  admin_url: string;
  /** Copies of each stream over the servers of the bus, default 1. */
  replicas?: number;
  /** Days that call records are kept, default 365. */
  calls_days?: number;
}

export const loadDefinitions = async (): Promise<Provisionable[]> => (await loadServices()).map(({ def }) => def);

export function writeNatsConfig(home: Home, secrets: Secrets, services: readonly Provisionable[]): void {
  const accounts = services.map((service) => ({ name: service.name, consumers: consumersOf(service) }));
  writePrivate(home.natsConfig, natsConfig(accounts, secrets.bus));
}

/** Streams, buckets, consumers, tool owners, roles and schemas, as the registries in the code list them. Idempotent. */
export async function provision(
  target: ProvisionTarget,
  secrets: ProvisionSecrets,
  services: readonly Provisionable[],
  log?: Log,
): Promise<void> {
  const { replicas, calls_days: callsDays } = target;
  const bus = asProvisioner(
    target.nats_url,
    secrets,
    ({ bus: { nc } }) => provisionBus({ nc, services, replicas, retention: { callsDays }, log }),
    log,
  );
  await Promise.all([bus, database(target.admin_url, secrets, services, log)]);
}

async function database(
  url: string,
  secrets: ProvisionSecrets,
  services: readonly Provisionable[],
  log?: Log,
): Promise<void> {
  await makeDatabase(url);
  const { admin: _, ...passwords } = secrets.database;
  await provisionDatabase({ adminUrl: url, services, passwords: passwords as Record<string, string>, log });
}

/** A fresh cluster has no database of our name; asked for by way of the one that is always there. */
export async function makeDatabase(url: string): Promise<void> {
  const target = new URL(url);
  const name = decodeURIComponent(target.pathname.slice(1));
  target.pathname = '/postgres';
  const client = await connectAdmin(target.href);
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
