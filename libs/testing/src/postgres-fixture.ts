import type { Provisionable } from '@cortex/eventstore';
import type { Pool } from 'pg';

export interface PostgresFixture extends AsyncDisposable {
  /** Without credentials: `CORTEX_DATABASE_URL`. */
  readonly url: string;
  /** As the superuser, with credentials. */
  readonly adminUrl: string;
  passwordOf(role: string): string;
  /** As a role (`ticket`, `ticket_projector`) or the superuser (no argument); ended with the fixture. */
  pool(role?: string): Pool;
}

/** A database of its own, copied from one that is migrated once per run for these services. About 0.1 s. */
export async function postgresFixture(services: readonly Provisionable[] = []): Promise<PostgresFixture> {
  throw new Error(`no body yet ${services.length}`);
}
