import { sql, type Kysely, type Transaction } from 'kysely';
import { newest, readEvents, type AnyEvent, type LogMessage } from './commit.js';
import type { Projection } from './projection.js';

export interface Applied {
  /** The checkpoint after the batch. */
  seq: number;
  /** Messages that were above the checkpoint. */
  messages: number;
  workspaces: Set<string>;
  /** What was left out, and why: no commits of their subject, events of a newer release. */
  skipped: { seq: number; subject: string; because: string }[];
}

/**
 * Applies a batch and moves the checkpoint in one transaction. What is not above the checkpoint was delivered before and is
 * left out; the row's lock keeps a second runner, and a rebuild that swaps the tables, out until the end.
 */
export function applyBatch<Db>(db: Kysely<Db>, projection: Projection, batch: readonly LogMessage[]): Promise<Applied> {
  return db.transaction().execute(async (tx) => {
    const before = await lockCheckpoint(tx, projection.name);
    const applied: Applied = { seq: before, messages: 0, workspaces: new Set(), skipped: [] };
    for (const message of batch) {
      if (message.seq <= applied.seq) continue;
      applied.seq = message.seq;
      applied.messages++;
      for (const event of eventsOf(projection, message, applied)) await projection.on[event.type]?.(event, tx);
    }
    if (applied.seq > before) {
      await sql`update projection_checkpoint set seq = ${applied.seq} where projection = ${projection.name}`.execute(
        tx,
      );
    }
    return applied;
  });
}

/** Makes the row when it is missing, so that there is always one to lock. */
export async function lockCheckpoint<Db>(tx: Transaction<Db>, projection: string): Promise<number> {
  const { rows } = await sql<{ seq: string }>`
    insert into projection_checkpoint (projection, seq) values (${projection}, 0)
    on conflict (projection) do update set seq = projection_checkpoint.seq returning seq`.execute(tx);
  return Number(rows[0]?.seq);
}

/** Those that the projection has a handler for, in their newest version. */
function* eventsOf(projection: Projection, message: LogMessage, applied: Applied): Generator<AnyEvent> {
  const read = readEvents(message);
  const skip = (because: string) => applied.skipped.push({ seq: message.seq, subject: message.subject, because });
  if ('garbage' in read) {
    skip(read.garbage);
    return;
  }
  for (const recorded of read.events) {
    if (!Object.hasOwn(projection.on, recorded.type)) continue;
    const event = newest(recorded, projection);
    if (!event) {
      skip(`${recorded.type} version ${recorded.version} was written by a newer release`);
      continue;
    }
    applied.workspaces.add(event.workspace);
    yield event;
  }
}
