import type { Bus } from '@cortex/bus';
import type { EventStore, ProjectionRunner } from '@cortex/eventstore';
import type { Tracer } from '@opentelemetry/api';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { HealthRegistry } from './health.js';
import type { Metrics } from './metrics.js';
import type { OpsRoutes } from './ops.js';
import type { Secrets } from './secrets.js';
import type { ServiceDefinition } from './service.js';

/** One running service: its connections and what the kit keeps of it. */
export interface ServiceHost {
  readonly definition: ServiceDefinition;
  /** The parsed `config`. */
  readonly config: Record<string, unknown>;
  /** Null where the home has none and the environment gives everything. */
  readonly secrets: Secrets | null;
  readonly bus: Bus;
  readonly store: EventStore;
  /** As the service's role, in its schema: state tables. Projected rows are read through `ctx.read` or `tenantDb`. */
  readonly pool: Pool;
  readonly projections: ProjectionRunner;
  readonly health: HealthRegistry;
  readonly metrics: Metrics;
  /** `/health`, `/ready` and `/metrics` of the process, for whoever has a listener. */
  readonly ops: OpsRoutes;
  readonly log: Logger;
  readonly tracer: Tracer;
  readonly version: string;
}
