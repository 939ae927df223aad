import { setTimeout as sleep } from 'node:timers/promises';
import { connectBus, type Bus } from '@cortex/bus';
import { schemaOf, unavailable, type AnnouncedTool } from '@cortex/contracts';
import {
  consumersOf,
  createPool,
  EventStore,
  postgresSnapshots,
  ProjectionRunner,
  ReactorRunner,
} from '@cortex/eventstore';
import { databaseConfig, type ClientConfig, type Pool } from '@cortex/eventstore/pool';
import { consumerState, Patience } from '@cortex/eventstore/pull';
import type { Type } from '@nestjs/common';
import type { Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Environment, ServiceCredentials } from './config.js';
import { problemOf, type HealthRegistry } from './health.js';
import type { Lines } from './lines.js';
import { busLog } from './log.js';
import type { Metrics } from './metrics.js';
import type { OpsRoutes } from './ops.js';
import { Presence } from './presence.js';
import { assertSchema, assertStreams } from './provisioned.js';
import { hosted } from './reaction.js';
import type { Secrets } from './secrets.js';
import { busTlsFiles } from './server-faults.js';
import type { Get, ServiceDefinition } from './service.js';
import { BusTransport } from './transport.js';

/** What all services of a process share. */
export interface ProcessParts {
  shared: Environment;
  secrets: Secrets | null;
  health: HealthRegistry;
  metrics: Metrics;
  ops: OpsRoutes;
  log: Logger;
  lines: Lines;
  tracer: (service: string) => Tracer;
  version: string;
}

const RETRY_MS = [50, 100, 250, 500, 1_000];
const NOT_CONNECTED = 'NATS is not connected';

/** One running service: its connections, runners and transport. Nest makes and ends the rest. */
export class ServiceHost {
  readonly store: EventStore;
  readonly projections: ProjectionRunner;
  readonly reactors: ReactorRunner;
  readonly transport: BusTransport;
  readonly health: HealthRegistry;
  readonly metrics: Metrics;
  readonly ops: OpsRoutes;
  readonly secrets: Secrets | null;
  /** Of the audit trail; the log is another. */
  readonly lines: Lines;
  readonly version: string;
  readonly #presence: Presence;
  readonly #stop = new AbortController();
  readonly #cleanups: (() => void)[] = [];
  #get: Get | undefined;
  #bringing: Promise<void> = Promise.resolve();
  #problem: string | null = 'starting';
  #ready = Promise.withResolvers<void>();

  private constructor(
    readonly definition: ServiceDefinition,
    /** The parsed `config`. */
    readonly config: Record<string, unknown>,
    readonly bus: Bus,
    /** As the service's role, in its schema: state tables. Projected rows are read by `ctx.read` or `tenantDb`. */
    readonly pool: Pool,
    projector: ClientConfig,
    readonly log: Logger,
    readonly tracer: Tracer,
    parts: ProcessParts,
  ) {
    const { name, projections = [], reactors = [] } = definition;
    this.health = parts.health;
    this.metrics = parts.metrics;
    this.ops = parts.ops;
    this.secrets = parts.secrets;
    this.lines = parts.lines;
    this.version = parts.version;
    const tell = busLog(log);
    this.store = new EventStore({ bus, snapshots: postgresSnapshots(pool, tell), log: tell });
    this.projections = new ProjectionRunner({
      bus,
      schema: schemaOf(name),
      database: projector,
      projections,
      onBatch: (projection, batch) => definition.onBatch?.(projection, batch, (provider) => this.get(provider)),
      log: tell,
    });
    this.reactors = new ReactorRunner({ bus, reactors: reactors.map((one) => hosted(this, one)), log: tell });
    this.transport = new BusTransport(this);
    this.#presence = new Presence(bus, name, parts.version, () => this.#announced(), log);
    this.#observe();
  }

  /** Connects without waiting for a server: both are tried until they are there. */
  static async create(
    definition: ServiceDefinition,
    config: Record<string, unknown>,
    credentials: ServiceCredentials,
    parts: ProcessParts,
  ): Promise<ServiceHost> {
    const { name } = definition;
    const log = parts.log.child({ service: name });
    const bus = await connectBus({
      servers: parts.shared.CORTEX_NATS_URL,
      tls: busTlsFiles(parts.shared),
      user: credentials.busUser,
      pass: () => credentials.busPassword,
      service: name,
      log: busLog(log),
    });
    const schema = schemaOf(name);
    const database = (user: string, password: () => string) =>
      databaseConfig(parts.shared.CORTEX_DATABASE_URL, name, { user, password });
    const serving = database(schema, () => credentials.databasePassword);
    const pool = createPool(
      { ...serving, max: parts.shared.CORTEX_DATABASE_POOL, idleTimeoutMillis: 30_000 },
      busLog(log),
    );
    const projector = database(`${schema}_projector`, () => credentials.projectorPassword);
    return new ServiceHost(definition, config, bus, pool, projector, log, parts.tracer(name), parts);
  }

  /** A Nest provider of the service. */
  get<T>(provider: Type<T> | symbol | string): T {
    if (!this.#get) throw new Error(`${this.definition.name} is not made yet`);
    return this.#get<T>(provider);
  }

  /** Tells the edge what the tools are now, when something that `describe` reads has changed. */
  announce(): Promise<void> {
    // Before the first announcement there is nothing to correct.
    return this.#problem === null ? this.#presence.announce() : Promise.resolve();
  }

  #announced(): AnnouncedTool[] {
    const { definition } = this;
    const get: Get = (provider) => this.get(provider);
    return definition.tools.map(({ announced }) => definition.describe?.(announced, get) ?? announced);
  }

  /** Called with the application: from here on the service tries to become ready, for as long as it takes. */
  start(get: Get): void {
    this.#get = get;
    this.#bringing = this.#bringUp();
  }

  /** Resolves when the service takes calls for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * First half of a stop, while the service's providers still work: out of the edge's list, no new call, those under way to
   * their end, then what reads the log.
   */
  async drain(): Promise<void> {
    this.#stop.abort();
    // Else a start that is under way would announce a service that is gone.
    await this.#bringing;
    await this.#presence.end();
    await this.transport.close();
    await Promise.allSettled([this.projections.stop(), this.reactors.stop()]);
  }

  /** The service's own say in a stop; an error in it does not hold the stop up. */
  async stopping(): Promise<void> {
    if (!this.#get) return;
    try {
      await this.definition.stopping?.(this.#get);
    } catch (error) {
      this.log.error({ err: error }, 'the service could not prepare its stop');
    }
  }

  /** Second half, after Nest's own: connections. */
  async close(): Promise<void> {
    await this.drain();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
    await Promise.allSettled([this.bus.drain(), this.pool.end()]);
  }

  async #bringUp(): Promise<void> {
    const { bus, definition, log } = this;
    const patience = new Patience();
    const provisioned = await this.#untilDone(async () => {
      if (!bus.up) throw unavailable(undefined, NOT_CONNECTED, '');
      await assertStreams(bus, consumersOf(definition), patience);
      await assertSchema(this.pool, definition.name, definition.migrations ?? {});
    });
    if (!provisioned) return;
    this.projections.start();
    this.reactors.start();
    this.transport.open();
    if (!(await this.#untilDone(() => this.#presence.begin()))) return;
    this.#problem = null;
    this.#ready.resolve();
    log.info({ tools: definition.tools.length }, 'ready');
  }

  /** Tries for as long as it takes; each new problem is told once. False when the service was stopped meanwhile. */
  async #untilDone(step: () => Promise<void>): Promise<boolean> {
    const { signal } = this.#stop;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await step();
        return !signal.aborted;
      } catch (error) {
        const problem = (error as Error).message;
        if (problem !== this.#problem) this.log.warn({ err: error }, `not ready: ${problem}`);
        this.#problem = problem;
        const pause = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  #observe(): void {
    const service = this.definition.name;
    const { busUp, databaseUp, dropped, inFlight } = this.metrics;
    dropped.inc({ service }, 0); // a counter that begins at its first message would have grown by nothing
    this.#cleanups.push(
      this.health.add(`${service}.start`, () => this.#problem),
      this.health.add(`${service}.bus`, () => (this.bus.up ? null : NOT_CONNECTED)),
      this.health.add(`${service}.database`, () => this.#databaseProblem()),
      this.metrics.onScrape(async () => {
        databaseUp.set({ service }, (await problemOf(() => this.#databaseProblem())) === null ? 1 : 0);
      }),
      this.metrics.onScrape(async () => {
        busUp.set({ service }, this.bus.up ? 1 : 0);
        inFlight.set({ service }, this.transport.runner.inFlight.size);
        if (this.bus.up) await Promise.all([this.#observeProjections(service), this.#observeConsumers(service)]);
      }),
    );
  }

  async #databaseProblem(): Promise<string | null> {
    try {
      await this.pool.query('select 1');
      return null;
    } catch (error) {
      return `PostgreSQL does not answer (${(error as { code?: string }).code ?? (error as Error).message})`;
    }
  }

  async #observeConsumers(service: string): Promise<void> {
    const { consumerPending, consumerUnacked } = this.metrics;
    const infos = consumersOf(this.definition).map(async ({ stream, name }) => {
      const { num_pending, num_ack_pending } = await consumerState(this.bus, stream, name);
      consumerPending.set({ service, stream, consumer: name }, num_pending);
      consumerUnacked.set({ service, stream, consumer: name }, num_ack_pending);
    });
    await Promise.allSettled(infos);
  }

  async #observeProjections(service: string): Promise<void> {
    const { projectionPosition, projectionPending, projectionSkipped } = this.metrics;
    for (const { projection, seq, pending, skipped } of await this.projections.lag()) {
      // What is unknown is not nought: it goes missing from the scrape.
      if (seq === null) projectionPosition.remove({ service, projection });
      else projectionPosition.set({ service, projection }, seq);
      projectionSkipped.set({ service, projection }, skipped);
      if (pending === null) projectionPending.remove({ service, projection });
      else projectionPending.set({ service, projection }, pending);
    }
  }
}
