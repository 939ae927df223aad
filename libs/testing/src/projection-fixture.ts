import { headers } from '@cortex/bus';
import { COMMIT_HEADER, type CommitEnvelope } from '@cortex/contracts';
import { migrateSchema, type EventShape, type Migrations, type Projection, type Recorded } from '@cortex/eventstore';
import { applyBatch } from '@cortex/eventstore/apply-batch';
import { Kysely, PostgresDialect } from 'kysely';
import { postgresFixture } from './postgres-fixture.js';

export interface ProjectionFixture<Event extends EventShape, Db> extends AsyncDisposable {
  /** Reads the tables across workspaces. */
  readonly db: Kysely<Db>;
  /**
   * Applies one commit at stream sequence `seq`, as the runner does; a sequence that was
   * applied before changes nothing. Workspace `w1` and aggregate `a1` unless the first event says otherwise.
   */
  apply(seq: number, ...events: (Event & Partial<Recorded>)[]): Promise<void>;
}

/** One projection on a database of its own, with all tables of its service. */
export async function projectionFixture<Event extends EventShape, Db>(
  projection: Projection<Event, Db>,
  migrations: Migrations,
): Promise<ProjectionFixture<Event, Db>> {
  const postgres = await postgresFixture();
  try {
    const pool = postgres.pool();
    // As the superuser in its own schema: who may write which table is provisioning's affair, and tested with it.
    await migrateSchema(postgres.adminUrl, 'public', migrations, 'postgres');
    const db = new Kysely<Db>({ dialect: new PostgresDialect({ pool }) });
    return {
      db,
      async apply(seq, ...events) {
        const client = await pool.connect();
        try {
          await applyBatch(client, projection, [messageOf(projection, seq, events)]);
        } finally {
          client.release();
        }
      },
      [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
    };
  } catch (error) {
    await postgres[Symbol.asyncDispose]();
    throw error;
  }
}

/** The message as the stream would hold it. */
function messageOf(projection: Projection, seq: number, events: readonly (EventShape & Partial<Recorded>)[]) {
  const [first] = events;
  if (projection.subject.startsWith('cortex.call.')) {
    return {
      subject: first?.subject ?? 'cortex.call.ticket.sample',
      seq,
      data: Buffer.from(JSON.stringify(first?.data)),
    };
  }
  const workspace = first?.workspace ?? 'w1';
  const tokens = [workspace, first?.id ?? 'a1'];
  const commit: CommitEnvelope = {
    commit_id: first?.commit_id ?? `commit-${seq}`,
    at: first?.at ?? '2026-01-05T10:00:00.000Z',
    actor: first?.actor ?? { kind: 'user', id: 'per_1' },
    workspace,
    ...(first?.session_id !== undefined && { session_id: first.session_id }),
    ...(first?.project !== undefined && { project: first.project }),
    correlation_id: first?.correlation_id ?? 'call-1',
    causation_id: first?.causation_id ?? 'call-1',
    events: events.map(({ type, data, version = projection.version?.[type] ?? 1 }) => ({ type, version, data })),
  };
  const header = headers();
  header.set(COMMIT_HEADER, commit.commit_id);
  const subject = projection.subject.replace(/\*/g, () => tokens.shift() ?? 'a1');
  return { subject: first?.subject ?? subject, seq, headers: header, data: Buffer.from(JSON.stringify(commit)) };
}
