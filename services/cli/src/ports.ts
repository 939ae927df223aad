import { freePort, isPortFree } from '@cortex/embedded/ports';
import { CliError, EXIT } from './exit.js';
import { readJson, writeJson, type Home } from './home.js';

export interface PublicPorts {
  /** MCP, well-known documents, health. */
  public: number;
  webhooks: number;
  devices: number;
  /** The development issuer. */
  issuer: number;
}

export interface InnerPorts {
  nats: number;
  postgres: number;
}

const VARIABLES = {
  public: 'PORT',
  webhooks: 'WEBHOOK_PORT',
  devices: 'CORTEX_CLIENT_PORT',
  issuer: 'CORTEX_ISSUER_PORT',
} as const satisfies Record<keyof PublicPorts, string>;

/**
 * A port has its own variable, else `--port N` moves it (N, N+1 issuer, N+2 webhooks, N+3 devices), else its default; the
 * issuer's is the port after the public one.
 */
export function publicPorts(env: NodeJS.ProcessEnv, base?: number): PublicPorts {
  const own = (name: keyof PublicPorts) => {
    const text = env[VARIABLES[name]];
    return text === undefined || text === '' ? undefined : parsePort(VARIABLES[name], text);
  };
  const open = own('public') ?? base ?? 9030;
  const ports = {
    public: open,
    webhooks: own('webhooks') ?? (base === undefined ? 3001 : base + 2),
    devices: own('devices') ?? (base === undefined ? 3002 : base + 3),
    issuer: own('issuer') ?? (base ?? open) + 1,
  };
  const seen = new Map<number, keyof PublicPorts>();
  for (const name of Object.keys(ports) as (keyof PublicPorts)[]) {
    const other = seen.get(ports[name]);
    if (other !== undefined) {
      const variables = `${VARIABLES[other]} and ${VARIABLES[name]}`;
      throw new CliError(`port ${ports[name]} is given to ${other} and ${name}; set ${variables} apart`, EXIT.usage);
    }
    seen.set(ports[name], name);
  }
  return ports;
}

export function parsePort(name: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_532) return port;
  throw new CliError(`${name} is no port: ${JSON.stringify(text)}; use 1 to 65532`, EXIT.usage);
}

/** Names every port that somebody else holds, with what moves it. */
export async function assertFree(ports: Partial<PublicPorts>): Promise<void> {
  const names = Object.keys(ports) as (keyof PublicPorts)[];
  const taken = await Promise.all(names.map(async (name) => !(await isPortFree(ports[name] ?? 0)) && name));
  const texts = taken.flatMap((name) =>
    name === false
      ? []
      : [
          `port ${ports[name]} (${name}) is ${(ports[name] ?? 0) < 1024 ? 'taken or for root alone' : 'taken'}; move it with ${VARIABLES[name]} or --port`,
        ],
  );
  if (texts.length > 0) throw new CliError(texts.join('\n'), EXIT.portTaken);
}

/** The ports of NATS and PostgreSQL of this home: those of last time while they are free. */
export async function innerPorts(home: Home): Promise<InnerPorts> {
  const kept = readJson<Partial<InnerPorts>>(home.innerPorts);
  const pick = async (port: number | undefined) => (port && (await isPortFree(port)) ? port : freePort());
  const nats = await pick(kept?.nats);
  let postgres = await pick(kept?.postgres);
  while (postgres === nats) postgres = await freePort();
  if (kept?.nats !== nats || kept.postgres !== postgres) writeJson(home.innerPorts, { nats, postgres });
  return { nats, postgres };
}
