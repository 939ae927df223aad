import type { NatsConnection } from '@nats-io/transport-node';
import type { ConsumerRef, ServiceName } from '@cortex/contracts';
import type { Log } from '@cortex/bus';
import type { Migrations, Projection } from './projection.js';
import type { Reactor } from './reactor.js';

/** What provisioning needs to know of a service; a ServiceDefinition has it all. */
export interface Provisionable {
  name: ServiceName;
  tools: readonly { name: string }[];
  projections?: readonly Projection[];
  reactors?: readonly Reactor[];
  migrations?: Migrations;
  /** Tables that no projection owns: the service writes them itself. */
  stateTables?: readonly string[];
}

export interface ProvisionBusOptions {
  nc: NatsConnection;
  services: readonly Provisionable[];
  retention?: { callsDays?: number };
  replicas?: number;
  log?: Log;
}

/** Makes or updates streams, buckets, durable consumers and the tool owners. Idempotent; provisioning identity only. */
export async function provisionBus(options: ProvisionBusOptions): Promise<void> {
  throw new Error(`no body yet ${options.services.length}`);
}

/** Every durable consumer that the registries list, by which the bus permissions are made. */
export function consumersOf(service: Pick<Provisionable, 'projections' | 'reactors'>): ConsumerRef[] {
  throw new Error(`no body yet ${service.projections?.length}`);
}

export interface ProvisionDatabaseOptions {
  /** Superuser or owner of the database, with CREATEROLE. */
  adminUrl: string;
  services: readonly Provisionable[];
  /** Role name (`<schema>`, `<schema>_projector`) to password. */
  passwords: Readonly<Record<string, string>>;
  log?: Log;
}

/** Roles, schemas, migrations, grants and row-level security. Idempotent; fails by name for a table that nobody owns. */
export async function provisionDatabase(options: ProvisionDatabaseOptions): Promise<void> {
  throw new Error(`no body yet ${options.services.length}`);
}
