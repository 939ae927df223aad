import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { failedPrecondition, schemaOf, type CortexError } from '@cortex/contracts';
import { z } from 'zod';
import { flag } from './flag.js';
import { withSecretFiles } from './secret-files.js';
import { loadSecrets, type Secrets } from './secrets.js';
import { busFaults, databaseFaults } from './server-faults.js';
import type { ServiceDefinition } from './service.js';

const share = z.coerce.number().min(0).max(1).optional();

/** Variables that every service understands; the others are its own `config`. */
export const SharedVariables = z.object({
  CORTEX_HOME: z
    .string()
    .default('~/.cortex')
    .transform((home) => resolve(home.replace(/^~(?=\/|$)/, homedir()))),
  /** Folder of files, each named as the variable whose value it holds. */
  CORTEX_SECRETS_DIR: z.string().min(1).optional(),
  /** `nats://host:port`, or `tls://host:port`; several are separated by commas. */
  CORTEX_NATS_URL: z.string().min(1),
  /** PEM files: who signed the server's certificate, and what this service shows for its own. */
  CORTEX_NATS_CA_FILE: z.string().min(1).optional(),
  CORTEX_NATS_CERT_FILE: z.string().min(1).optional(),
  CORTEX_NATS_KEY_FILE: z.string().min(1).optional(),
  CORTEX_NATS_USER: z.string().min(1).optional(),
  CORTEX_NATS_PASSWORD: z.string().min(1).optional(),
  /** Host, port, database and TLS (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`); credentials in it are not used. */
  CORTEX_DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/, error: 'must be like postgres://host:5432/cortex' }),
  CORTEX_DATABASE_PASSWORD: z.string().min(1).optional(),
  CORTEX_DATABASE_PROJECTOR_PASSWORD: z.string().min(1).optional(),
  /** In production: bus and database may be reached without TLS on another machine, over a network that nobody else reads. */
  CORTEX_ALLOW_INSECURE_SERVERS: flag(false),
  CORTEX_DATABASE_POOL: z.coerce.number().int().min(1).max(100).default(4),
  /** `/health`, `/ready`, `/metrics` of a process without the edge; 0 takes a free port. */
  CORTEX_OPS_PORT: z.coerce.number().int().min(0).max(65_535).default(9464),
  CORTEX_OPS_HOST: z.string().min(1).default('127.0.0.1'),
  CORTEX_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  CORTEX_TRACE_SAMPLE: share,
  OTEL_TRACES_SAMPLER_ARG: share,
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.url().optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_EXPORTER_OTLP_TIMEOUT: z.coerce.number().int().positive().default(10_000),
  OTEL_BSP_SCHEDULE_DELAY: z.coerce.number().int().positive().default(5_000),
});
export type Environment = z.output<typeof SharedVariables>;

/** The passwords are read anew each time, so that a connection made after a rotation shows the new one. */
export interface ServiceCredentials {
  busUser: string;
  readonly busPassword: string;
  readonly databasePassword: string;
  readonly projectorPassword: string;
}

export interface ParsedConfig {
  shared: Environment;
  secrets: Secrets | null;
  /** Per service, in the order given. */
  services: { config: Record<string, unknown>; credentials: ServiceCredentials }[];
}

/** Throws one error that names every variable that is missing or wrong, for all services of the process. */
export function readConfig(
  definitions: readonly ServiceDefinition[],
  env: NodeJS.ProcessEnv = process.env,
): ParsedConfig {
  const faults = new Set<string>();
  const given = setIn(env);
  const parse = <T extends z.ZodObject>(schema: T): z.output<T> | undefined => {
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) {
      const name = String(path[0] ?? 'environment');
      faults.add(given[name] === undefined ? `${name} is missing` : `${name} ${problemOf(message)}`);
    }
    return undefined;
  };
  const shared = parse(SharedVariables);
  for (const fault of [...busFaults(given), ...databaseFaults(given)]) faults.add(fault);
  const configs = definitions.map((definition) => parse(definition.config));
  const secrets = shared ? loadSecrets(shared.CORTEX_HOME) : null;
  const services = definitions.map(({ name }, i) => {
    const schema = schemaOf(name);
    // With several services in one process a variable could only hold one service's password.
    const alone = definitions.length === 1;
    const credential = (variable: string, storedIn: (secrets: Secrets) => unknown): (() => string) => {
      const find = (variables: Variables, stored: Secrets | null) =>
        ((alone ? variables[variable] : undefined) ?? (stored && storedIn(stored)) ?? undefined) as string | undefined;
      let known = find(given, secrets);
      if (known === undefined && shared) {
        const where = join(shared.CORTEX_HOME, 'config', 'secrets.json');
        faults.add(
          `${variable} of ${name} is missing, and ${secrets ? `${where} has none for it` : `there is no ${where}`}`,
        );
      }
      return () => {
        try {
          known = find(setIn(env), shared ? loadSecrets(shared.CORTEX_HOME) : null) ?? known;
        } catch {
          // being written: what was known may still do
        }
        return known ?? '';
      };
    };
    const role = (name: string) => (stored: Secrets) => (stored.database as Record<string, unknown>)[name];
    const bus = credential('CORTEX_NATS_PASSWORD', (stored) => stored.bus[name]);
    const database = credential('CORTEX_DATABASE_PASSWORD', role(schema));
    const projector = credential('CORTEX_DATABASE_PROJECTOR_PASSWORD', role(`${schema}_projector`));
    return {
      config: configs[i] ?? {},
      credentials: {
        busUser: (alone ? shared?.CORTEX_NATS_USER : undefined) ?? name,
        get busPassword() {
          return bus();
        },
        get databasePassword() {
          return database();
        },
        get projectorPassword() {
          return projector();
        },
      },
    };
  });
  if (shared === undefined || faults.size > 0) throw configFault([...faults]);
  return { shared, secrets, services };
}

type Variables = Readonly<Record<string, string | undefined>>;

/** An empty variable is what compose files and charts make of an unset one. */
const setIn = (env: NodeJS.ProcessEnv): Variables =>
  Object.fromEntries(Object.entries(withSecretFiles(env)).filter(([, value]) => value !== undefined && value !== ''));

/** zod's own words begin with a capital and repeat "Invalid input"; a variable's value is never shown, it may be a secret. */
const problemOf = (message: string): string =>
  /^[a-z]/.test(message) ? message : `is wrong: ${message.replace(/^Invalid input: /, '')}`;

const configFault = (faults: readonly string[]): CortexError =>
  failedPrecondition('configuration', 'is not usable', `set these variables:\n  ${faults.join('\n  ')}`, {
    details: { faults },
  });
