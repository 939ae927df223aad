import type { INestApplication, Type } from '@nestjs/common';
import type { ServiceDefinition } from './service.js';

/** The HTTP part of a service that has a listener (the edge). */
export interface HttpPart {
  /** Makes the application of the module; the kit adds the bus transport to it. */
  create(module: unknown): Promise<INestApplication>;
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
}

/** One process with one or more services; ends by SIGTERM or SIGINT, after the calls in flight. */
export async function runServices(services: readonly Runnable[], options: RunOptions = {}): Promise<void> {
  throw new Error(`no body yet ${services.length} ${options.env === undefined}`);
}

export const runService = (module: Type, def: ServiceDefinition, options?: RunOptions): Promise<void> =>
  runServices([{ module, def }], options);
