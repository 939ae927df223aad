import { accessSync, constants } from 'node:fs';
import { busServers, type TlsFiles } from '@cortex/bus/tls';
import { isThisMachine } from '@cortex/contracts/transport-policy';
import { SSL_FILES, SSL_MODES } from '@cortex/eventstore/pool';
import { isOn } from './flag.js';

const FILES = { ca: 'CORTEX_NATS_CA_FILE', cert: 'CORTEX_NATS_CERT_FILE', key: 'CORTEX_NATS_KEY_FILE' } as const;
const SWITCH = 'CORTEX_ALLOW_INSECURE_SERVERS';

/** The PEM files for the bus that the environment names. */
export const busTlsFiles = (env: { [name in (typeof FILES)[keyof typeof FILES]]?: string }): TlsFiles =>
  Object.fromEntries(Object.entries(FILES).flatMap(([part, name]) => (env[name] ? [[part, env[name]]] : [])));

/** What is wrong with the way to the bus, each fault with the name of its variable and without a value that may be secret. */
export function busFaults(env: NodeJS.ProcessEnv): string[] {
  const { CORTEX_NATS_URL: url = '' } = env;
  if (url === '') return [];
  const servers = addresses(url);
  if (servers === undefined || servers.some(({ protocol, hostname }) => !hostname || !/^(nats|tls):$/.test(protocol)))
    return ['CORTEX_NATS_URL holds what is no address of a bus; write nats://host:4222, or tls://host:4222'];
  const named = Object.values(FILES).filter((name) => env[name]);
  const plain = servers.filter(({ protocol }) => protocol === 'nats:');
  if (plain.length > 0 && plain.length < servers.length)
    return ['CORTEX_NATS_URL mixes nats:// and tls://; write tls:// for each server'];
  const faults = named.flatMap((name) => unreadable(name, String(env[name])));
  if (plain.length > 0)
    faults.push(...named.map((name) => `${name} is set, but CORTEX_NATS_URL is nats://; write tls:// there`));
  if (!env[FILES.cert] !== !env[FILES.key]) faults.push(`${FILES.cert} and ${FILES.key} belong together; set both`);
  if (plain.some(({ hostname }) => isRefused(hostname, env)))
    faults.push(`CORTEX_NATS_URL leads to another machine without TLS; write tls://, or set ${SWITCH}=true`);
  return faults;
}

/** The same of the way to the database, whose URL says it in the words of libpq. */
export function databaseFaults(env: NodeJS.ProcessEnv): string[] {
  const text = env['CORTEX_DATABASE_URL'] ?? '';
  if (!URL.canParse(text)) return []; // told by the variable's own check
  const { hostname, searchParams } = new URL(text);
  const mode = searchParams.get('sslmode');
  const files = SSL_FILES.filter((name) => searchParams.has(name));
  if (mode !== null && !SSL_MODES.some((known) => known === mode))
    return [`CORTEX_DATABASE_URL has an sslmode that is none of ${SSL_MODES.join(', ')}; take verify-full`];
  const encrypted = mode !== null && mode !== 'disable';
  const faults = encrypted
    ? files.flatMap((name) => unreadable(`${name} of CORTEX_DATABASE_URL`, String(searchParams.get(name))))
    : files.map((name) => `CORTEX_DATABASE_URL has ${name} without TLS; add sslmode=verify-full`);
  if (searchParams.has('sslcert') !== searchParams.has('sslkey'))
    faults.push('CORTEX_DATABASE_URL has one of sslcert and sslkey; give both');
  if (!encrypted && isRefused(hostname, env))
    faults.push(
      `CORTEX_DATABASE_URL leads to another machine without TLS; add sslmode=verify-full, or set ${SWITCH}=true`,
    );
  return faults;
}

const isRefused = (hostname: string, env: NodeJS.ProcessEnv): boolean =>
  env['NODE_ENV'] === 'production' && !isOn(env[SWITCH]) && !isThisMachine(hostname);

function addresses(url: string): URL[] | undefined {
  try {
    return busServers(url);
  } catch {
    return undefined;
  }
}

function unreadable(what: string, file: string): string[] {
  try {
    accessSync(file, constants.R_OK);
    return [];
  } catch (error) {
    return [`${what} cannot be read at ${file} (${(error as NodeJS.ErrnoException).code}); mount the PEM file there`];
  }
}
