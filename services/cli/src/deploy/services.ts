import { SERVICES, type ServiceName } from '@cortex/contracts/services';

/** What a container of a service needs. The kit and the bus permissions know the rest from the service's own definition. */
export interface Deployed {
  /** Listeners beside `/health`, `/ready` and `/metrics`; `public` ones are reached from outside by way of the proxy. */
  ports?: readonly { name: string; port: number; variable: string; host: string; public: boolean }[];
  /** Replicas of an installation at rest, and the most that load may make of them. */
  replicas: { least: number; most: number };
  /** Milli-CPUs and MiB: what is set aside, and the memory that ends it. */
  cpu: number;
  memory: number;
  memoryLimit: number;
  /** Writes files below CORTEX_HOME that outlive a call, so it gets a disk of its own. */
  disk?: true;
  /** Files of operators below `$CORTEX_HOME/config`, each optional. */
  files?: readonly string[];
  /** Connects to machines outside the installation. */
  outward?: true;
  /** Variables whose names are made of an id, as the variables of a backend are. */
  openVariables?: true;
}

/** Most services do little between two calls: a Node process with its registries. */
const SMALL = { replicas: { least: 1, most: 4 }, cpu: 50, memory: 160, memoryLimit: 512 } as const;

/**
 * The one list: image, compose file, chart, network policies, secrets and scrape targets are written from it (`npm run deploy`),
 * the bus permissions from the service's registries. A service that is missing here does not compile.
 */
const DEPLOYED: Readonly<Record<ServiceName, Deployed>> = {
  'mcp-edge': {
    ports: [{ name: 'http', port: 9030, variable: 'PORT', host: 'CORTEX_HOST', public: true }],
    replicas: { least: 2, most: 12 },
    cpu: 250,
    memory: 256,
    memoryLimit: 1024,
    files: ['managed-policy.json'],
    outward: true,
    openVariables: true,
  },
  session: SMALL,
  'remote-ops': {
    ...SMALL,
    ports: [{ name: 'devices', port: 3002, variable: 'CORTEX_CLIENT_PORT', host: 'CORTEX_CLIENT_HOST', public: true }],
    // Results that are too large for an answer lie in its files for a week; machines.json too.
    disk: true,
  },
  waitpoint: SMALL,
  team: SMALL,
  review: SMALL,
  memory: SMALL,
  // It reports blocking tickets to a webhook.
  ticket: { ...SMALL, outward: true },
  billing: { ...SMALL, files: ['prices.json', 'budget.json'] },
  audit: SMALL,
};

/** Of every container but the edge's, as the kit has it by default. */
export const OPS_PORT = 9464;

/** Where `/health`, `/ready` and `/metrics` of a service are. */
export const opsPortOf = (service: ServiceName): number => (service === 'mcp-edge' ? 9030 : OPS_PORT);

/** Every service with what its container needs, in the order of the list of services. */
export const deployed = SERVICES.map((name) => ({ name, ...DEPLOYED[name] }));
