import { readFileSync } from 'node:fs';
import { checkServerIdentity } from 'node:tls';
import { schemaOf } from '@cortex/contracts';
import type pg from 'pg';

export type { ClientConfig, Pool } from 'pg';

/** How a service reaches its schema as one of its two roles; credentials in the URL are not used. */
export function databaseConfig(
  url: string,
  service: string,
  /** A function is asked at each connection. */
  role: { user: string; password: string | (() => string) },
): pg.ClientConfig {
  return {
    ...placeOf(new URL(url)),
    ...role,
    application_name: `cortex ${service}`,
    options: `-c search_path=${schemaOf(service)}`,
  };
}

/** How provisioning reaches the database, with the credentials in the URL. */
export function adminConfig(url: string): pg.ClientConfig {
  const parsed = new URL(url);
  return {
    ...placeOf(parsed),
    ...(parsed.username !== '' && { user: decodeURIComponent(parsed.username) }),
    ...(parsed.password !== '' && { password: decodeURIComponent(parsed.password) }),
  };
}

function placeOf(url: URL): pg.ClientConfig {
  // An IPv6 address stands in brackets in a URL and nowhere else.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const ssl = sslOf(url.searchParams, host);
  return {
    host,
    port: Number(url.port || 5432),
    database: decodeURIComponent(url.pathname.slice(1)),
    ...(ssl && { ssl }),
  };
}

/** The modes of libpq that say for certain whether a connection is encrypted; `allow` and `prefer` leave it to the server. */
export const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
/** Parameters of the URL that name PEM files, by libpq's words. */
export const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;

/** `require` encrypts alone, `verify-ca` checks who signed the certificate, `verify-full` also to whom it is made out. */
function sslOf(parameters: URLSearchParams, host: string): pg.ClientConfig['ssl'] {
  const mode = parameters.get('sslmode');
  if (mode === null || mode === 'disable') return undefined;
  const [ca, cert, key] = SSL_FILES.map((name) => {
    const file = parameters.get(name);
    return file === null ? undefined : readFileSync(file, 'utf8');
  });
  return {
    rejectUnauthorized: mode !== 'require',
    // Left alone, a server that is named by its address would be compared with "localhost".
    checkServerIdentity: (_, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}
