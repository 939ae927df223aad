import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaOf } from '@cortex/contracts';
import { initPostgres, startPostgres } from '@cortex/embedded';
import { provisionDatabase, type Provisionable } from '@cortex/eventstore';
import type { Certified } from './certificates.js';
import type { PostgresFixture } from './postgres-fixture.js';
import { tempDir } from './temp-dir.js';

export interface OwnPostgres extends PostgresFixture {
  /** kill -9 of the server. */
  kill(): Promise<void>;
  /** Again, on the same port and data. */
  start(): Promise<void>;
}

export interface OwnPostgresOptions {
  /** Takes connections over the network with TLS alone, and only from clients that show a certificate of `ca`. */
  tls?: Certified & { ca: string; client: Certified };
}

/** A PostgreSQL that the test may kill, provisioned for these services. Takes a second or two. */
export async function ownPostgres(
  services: readonly Provisionable[],
  options: OwnPostgresOptions = {},
): Promise<OwnPostgres> {
  const dir = await tempDir('outage');
  const data = join(dir, 'data');
  await initPostgres(data, 'test');
  const tls = options.tls && (await withTls(dir, data, options.tls));
  let server = await startPostgres({ dir: data, settings: tls?.settings });
  const { port } = server;
  const adminUrl = `postgres://postgres:test@127.0.0.1:${port}/postgres${tls?.query ?? ''}`;
  const roles = services.flatMap(({ name }) => [schemaOf(name), `${schemaOf(name)}_projector`]);
  const passwordOf = (role: string): string => `test-${role}`;
  const passwords = Object.fromEntries(roles.map((role) => [role, passwordOf(role)]));
  await provisionDatabase({ adminUrl, services, passwords });
  return {
    url: `postgres://127.0.0.1:${port}/postgres${tls?.query ?? ''}`,
    adminUrl,
    passwordOf,
    pool: () => {
      throw new Error('a pool would not outlive the server; connect by adminUrl');
    },
    kill: () => server.kill(),
    async start() {
      server = await startPostgres({ dir: data, port, settings: tls?.settings });
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The server's settings, and what a URL of a client says. */
async function withTls(dir: string, data: string, { ca, cert, key, client }: NonNullable<OwnPostgresOptions['tls']>) {
  const texts = { ca, cert, key, 'client-cert': client.cert, 'client-key': client.key };
  const place = (name: string) => join(dir, `${name}.pem`);
  await Promise.all(Object.entries(texts).map(([name, text]) => writeFile(place(name), text, { mode: 0o600 })));
  await writeFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n');
  const files = { sslrootcert: place('ca'), sslcert: place('client-cert'), sslkey: place('client-key') };
  return {
    settings: { ssl: 'on', ssl_cert_file: place('cert'), ssl_key_file: place('key'), ssl_ca_file: place('ca') },
    query: `?${new URLSearchParams({ sslmode: 'verify-full', ...files }).toString()}`,
  };
}
