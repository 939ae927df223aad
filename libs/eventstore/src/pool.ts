import { schemaOf } from '@cortex/contracts';
import type pg from 'pg';

export type { ClientConfig, Pool } from 'pg';

/** How a service reaches its schema as one of its two roles; credentials in the URL are not used. */
export function databaseConfig(
  url: string,
  service: string,
  role: { user: string; password: string },
): pg.ClientConfig {
  const { hostname, port, pathname, searchParams } = new URL(url);
  return {
    // An IPv6 address stands in brackets in a URL and nowhere else.
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)),
    ...role,
    ...sslOf(searchParams.get('sslmode')),
    application_name: `cortex ${service}`,
    options: `-c search_path=${schemaOf(service)}`,
  };
}

/** libpq's words: everything from `verify-ca` on checks the certificate, `require` encrypts alone. */
function sslOf(mode: string | null): pg.ClientConfig {
  if (mode === null || mode === 'disable' || mode === 'allow' || mode === 'prefer') return {};
  return { ssl: { rejectUnauthorized: mode !== 'require' } };
}
