import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { schemaOf } from '@cortex/contracts';
import { initPostgres, startPostgres } from '@cortex/embedded';
import { provisionDatabase, type Provisionable } from '@cortex/eventstore';
import type { PostgresFixture } from './postgres-fixture.js';
import { tempDir } from './temp-dir.js';

export interface OwnPostgres extends PostgresFixture {
  /** kill -9 of the server. */
  kill(): Promise<void>;
  /** Again, on the same port and data. */
  start(): Promise<void>;
}

/** A PostgreSQL that the test may kill, provisioned for these services. Takes a second or two. */
export async function ownPostgres(services: readonly Provisionable[]): Promise<OwnPostgres> {
  const dir = await tempDir('outage');
  const data = join(dir, 'data');
  await initPostgres(data, 'test');
  let server = await startPostgres({ dir: data });
  const { port } = server;
  const adminUrl = `postgres://postgres:test@127.0.0.1:${port}/postgres`;
  const roles = services.flatMap(({ name }) => [schemaOf(name), `${schemaOf(name)}_projector`]);
  const passwordOf = (role: string): string => `test-${role}`;
  const passwords = Object.fromEntries(roles.map((role) => [role, passwordOf(role)]));
  await provisionDatabase({ adminUrl, services, passwords });
  return {
    url: `postgres://127.0.0.1:${port}/postgres`,
    adminUrl,
    passwordOf,
    pool: () => {
      throw new Error('a pool would not outlive the server; connect by adminUrl');
    },
    kill: () => server.kill(),
    async start() {
      server = await startPostgres({ dir: data, port });
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
