import type { Kysely } from 'kysely';
import type { Pool } from 'pg';

/** A reader of one workspace's rows; `'_'` (NO_WORKSPACE) reads what belongs to none. There is no reader without one. */
export function tenantDb<Db>(pool: Pool, workspace: string): Kysely<Db> {
  throw new Error(`no body yet ${pool.totalCount} ${workspace}`);
}
