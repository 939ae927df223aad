import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failedPrecondition } from '@cortex/contracts';
import type { DynamicModule, INestApplication, INestMicroservice, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { DestinationStream, Logger } from 'pino';
import { readConfig } from './config.js';
import { HealthRegistry } from './health.js';
import { ServiceHost } from './host.js';
import { LineWriter, type Lines } from './lines.js';
import { createLog, nestLog } from './log.js';
import { Metrics } from './metrics.js';
import { opsRoutes, type OpsRoutes } from './ops.js';
import { HOST, type ServiceDefinition } from './service.js';
import { startTelemetry } from './telemetry.js';

/** The HTTP part of a service that has a listener (the edge). */
export interface HttpPart {
  /** Makes the application of the module, with these options; the kit adds the bus transport to it. */
  create(module: DynamicModule, options: { logger: LoggerService; abortOnError: false }): Promise<INestApplication>;
  /** Routes and sockets, when every provider is there. */
  listen(app: INestApplication): Promise<void>;
  /** First step of a stop: take no new request, wait for the answers under way, end the streams. */
  drain(app: INestApplication): Promise<void>;
}

export interface Runnable {
  module: Type;
  def: ServiceDefinition;
  http?: HttpPart;
}

export interface RunOptions {
  /** Default `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Where the log goes; default standard error. */
  logTo?: DestinationStream;
  /** Where the lines of the audit trail go; default standard output. */
  linesTo?: Lines;
}

/** One or more services that share a process. */
export interface RunningProcess {
  readonly hosts: readonly ServiceHost[];
  readonly log: Logger;
  /** Of the kit's own `/health`, `/ready` and `/metrics`; null where a service has a listener that serves them. */
  readonly opsPort: number | null;
  /** Resolves when every service takes calls. */
  readonly ready: Promise<void>;
  /** Takes no new work, finishes what is under way, closes everything. Never rejects. */
  stop(): Promise<void>;
}

const STDOUT = 1;
/** The same in the sources and in the build: both lie one folder below. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Starts the services and returns without waiting for NATS or PostgreSQL: those are tried until they are there, and
 * `/ready` says no meanwhile. Throws what no retry would mend: bad configuration, a taken port, a module that cannot be made.
 */
export async function startProcess(services: readonly Runnable[], options: RunOptions = {}): Promise<RunningProcess> {
  const parsed = readConfig(
    services.map(({ def }) => def),
    options.env,
  );
  const { shared, secrets } = parsed;
  const log = createLog(shared.CORTEX_LOG_LEVEL, options.logTo);
  const lines = options.linesTo ?? new LineWriter(STDOUT);
  const telemetry = await startTelemetry(shared, version);
  const health = new HealthRegistry();
  const metrics = new Metrics();
  const ops = opsRoutes(
    health,
    metrics,
    services.map(({ def }) => def.name),
    version,
  );
  const parts = {
    shared,
    secrets,
    health,
    metrics,
    ops,
    log,
    lines,
    tracer: (name: string) => telemetry.tracer(name),
    version,
  };

  const started: Started[] = [];
  const unstarted: ServiceHost[] = [];
  let opsServer: Server | null = null;
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= shutDown());
  const shutDown = async () => {
    health.stopping();
    // Requests from outside end first: they need the services, also those beside them in this process.
    await Promise.allSettled(started.map((one) => one.drainHttp()));
    await Promise.allSettled(started.map(({ host }) => host.drain()));
    for (const outcome of await Promise.allSettled(started.map(({ app }) => app.close()))) {
      if (outcome.status === 'rejected')
        log.error({ err: outcome.reason as unknown }, 'a service did not close cleanly');
    }
    await Promise.allSettled([...started.map(({ host }) => host), ...unstarted].map((host) => host.close()));
    opsServer?.closeAllConnections();
    opsServer?.close();
    await lines.end();
    await telemetry.shutdown().catch((error: unknown) => log.warn({ err: error }, 'the last spans were not sent'));
  };

  try {
    // Side by side: without a server each waits a second before it goes on in the background.
    const hosts = await Promise.all(
      parsed.services.map(({ config, credentials }, i) =>
        ServiceHost.create(services[i]!.def, config, credentials, parts),
      ),
    );
    unstarted.push(...hosts);
    for (const service of services) started.push(await startApplication(service, unstarted.shift()!));
    if (!services.some(({ http }) => http)) {
      opsServer = await listen(ops, shared.CORTEX_OPS_PORT, shared.CORTEX_OPS_HOST);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  metrics.watchProcess();
  const hosts = started.map(({ host }) => host);
  return {
    hosts,
    log,
    opsPort: opsServer ? (opsServer.address() as AddressInfo).port : null,
    ready: Promise.all(hosts.map((host) => host.ready)).then(() => undefined),
    stop,
  };
}

interface Started {
  host: ServiceHost;
  app: INestApplication | INestMicroservice;
  drainHttp(): Promise<void>;
}

class HostModule {}
class RootModule {}

async function startApplication({ module, http }: Runnable, host: ServiceHost): Promise<Started> {
  // The host is a global of this application alone: the service's module is a constant and cannot carry it.
  const given: DynamicModule = {
    module: HostModule,
    global: true,
    providers: [{ provide: HOST, useValue: host }],
    exports: [HOST],
  };
  const root: DynamicModule = { module: RootModule, imports: [given, module] };
  const options = { logger: nestLog(host.log), abortOnError: false } as const;
  const strategy: MicroserviceOptions = { strategy: host.transport };
  let made: INestApplication | INestMicroservice | undefined;
  try {
    if (http) {
      const app = (made = await http.create(root, options));
      app.connectMicroservice(strategy);
      await app.startAllMicroservices();
      // The listener's start also runs the init hooks of the providers; calls may come only after them.
      await http.listen(app);
      host.start((token) => app.get(token, { strict: false }));
      return { host, app, drainHttp: () => http.drain(app) };
    }
    const app = (made = await NestFactory.createMicroservice(root, { ...strategy, ...options }));
    await app.listen();
    host.start((token) => app.get(token, { strict: false }));
    return { host, app, drainHttp: () => Promise.resolve() };
  } catch (error) {
    await made?.close().catch(() => undefined);
    await host.close();
    throw error;
  }
}

function listen(ops: OpsRoutes, port: number, host: string): Promise<Server> {
  const server = createServer((req, res) => {
    if (!ops(req, res)) res.writeHead(404).end();
  });
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const problem = cause.code === 'EADDRINUSE' ? `${port} is taken` : `${port} cannot be opened (${cause.code})`;
      reject(failedPrecondition('CORTEX_OPS_PORT', problem, 'set another one, or 0 for a free one', { cause }));
    });
    server.listen(port, host, () => resolve(server));
  });
}
