import type { AnnouncedTool, ServiceName } from '@cortex/contracts';
import type { Migrations, Projection, Reactor } from '@cortex/eventstore';
import type { DynamicModule, Provider, Type } from '@nestjs/common';
import type { z } from 'zod';
import type { Endpoint } from './endpoint.js';
import type { ServiceHost } from './host.js';
import type { Tool } from './tool.js';

/** All that Cortex knows of a service: what runs, what is provisioned and what is announced are made of it. */
export interface ServiceDefinition<C extends z.ZodObject = z.ZodObject> {
  name: ServiceName;
  /** Parsed from the environment at boot; every bad variable is named at once. */
  config: C;
  tools: readonly Tool[];
  queries?: readonly Endpoint[];
  commands?: readonly Endpoint[];
  projections?: readonly Projection[];
  reactors?: readonly Reactor[];
  migrations?: Migrations;
  /** Tables that no projection owns and the service writes itself. */
  stateTables?: readonly string[];
  /** The service's adapters: sockets, timers, clients. */
  providers?: readonly Provider[];
  /**
   * Changes how a tool is announced by what is so at run time, such as a list at the end of its description; never its name,
   * tier or schema's meaning. Asked again at every `host.announce()`.
   */
  describe?(tool: AnnouncedTool, get: Get): AnnouncedTool;
  /** After each batch that this instance's projections applied, for hints to other instances. */
  onBatch?(projection: string, batch: { seq: number; workspaces: ReadonlySet<string> }, get: Get): void;
  /** At an orderly stop, when no new call comes and before those under way are waited for: end what would hold them. */
  stopping?(get: Get): void | Promise<void>;
}

/** Finds a Nest provider of the service. */
export type Get = <T>(provider: Type<T> | symbol | string) => T;

/** Checks what the types cannot: that no two tools, queries or commands share a name. */
export function defineService<C extends z.ZodObject>(definition: ServiceDefinition<C>): ServiceDefinition<C> {
  const { name, tools, queries = [], commands = [] } = definition;
  for (const [what, list] of Object.entries({ tool: tools, query: queries, command: commands })) {
    const seen = new Set<string>();
    for (const item of list) {
      if (seen.has(item.name)) throw new Error(`service ${name} defines the ${what} ${item.name} twice`);
      seen.add(item.name);
    }
  }
  return definition;
}

/** The parsed `config` of the service: `@Inject(CONFIG) config: z.output<typeof config>`. */
export const CONFIG = Symbol('cortex.config');
/** Of type `Bus`, connected as this service. */
export const BUS = Symbol('cortex.bus');
/** Of type `EventStore`. */
export const STORE = Symbol('cortex.store');
/** Of type `Logger` (pino), with the service's name. */
export const LOG = Symbol('cortex.log');
/** Of type `ServiceDefinition`. */
export const DEFINITION = Symbol('cortex.definition');
/** Of type `ServiceHost`: pools, health, projections; for what the tokens above do not give. */
export const HOST = Symbol('cortex.host');

class ServiceKitModule {}

export const ServiceKit = {
  /** What a service's only module imports. `runServices` gives the application its bus, store and log. */
  forService(definition: ServiceDefinition): DynamicModule {
    const of = (provide: symbol, pick: (host: ServiceHost) => unknown): Provider => ({
      provide,
      useFactory: pick,
      inject: [HOST],
    });
    const tokens = [CONFIG, BUS, STORE, LOG, DEFINITION];
    return {
      module: ServiceKitModule,
      global: true,
      providers: [
        { provide: DEFINITION, useValue: definition },
        of(CONFIG, (host) => host.config),
        of(BUS, (host) => host.bus),
        of(STORE, (host) => host.store),
        of(LOG, (host) => host.log),
        ...(definition.providers ?? []),
      ],
      exports: [...tokens, ...(definition.providers ?? []).map(tokenOf)],
    };
  },
};

const tokenOf = (provider: Provider) => (typeof provider === 'function' ? provider : provider.provide);

/** The definition that a service's Nest module was made for. */
export function definitionOf(module: Function): ServiceDefinition {
  const imports = (Reflect.getMetadata('imports', module) ?? []) as DynamicModule[];
  for (const { module: imported, providers } of imports) {
    if (imported !== ServiceKitModule) continue;
    const found = providers?.find((p) => typeof p === 'object' && p.provide === DEFINITION);
    if (found && 'useValue' in found) return found.useValue as ServiceDefinition;
  }
  throw new Error(`${module.name} does not import ServiceKit.forService(...)`);
}
