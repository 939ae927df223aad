import type { EventShape, Migrations, Projection, Recorded } from '@cortex/eventstore';
import type { Kysely } from 'kysely';

export interface ProjectionFixture<Event extends EventShape, Db> extends AsyncDisposable {
  /** Reads the tables as their owner, across workspaces. */
  readonly db: Kysely<Db>;
  /** Applies one commit at stream sequence `seq`, as the runner does; a sequence that was applied before changes nothing. */
  apply(seq: number, ...events: (Event & Partial<Recorded>)[]): Promise<void>;
}

/** One projection on a database of its own. */
export async function projectionFixture<Event extends EventShape, Db>(
  projection: Projection<Event, Db>,
  migrations: Migrations,
): Promise<ProjectionFixture<Event, Db>> {
  throw new Error(`no body yet ${projection.name} ${Object.keys(migrations).length}`);
}
