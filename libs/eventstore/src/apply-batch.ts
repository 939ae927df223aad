import { BatchTransaction, type BatchClient } from './batch-transaction.js';
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

/** Projections of which a handler waits for one statement before it sends the next; found out, not declared. */
const oneByOne = new WeakSet<Projection>();

/**
 * Applies a batch and moves the checkpoint in one transaction. What is not above the checkpoint was delivered before and is
 * left out; the row's lock keeps a second runner, and a rebuild that swaps the tables, out until the end.
 *
 * On a connection that pipelines, handlers are started in order without waiting for each other. That keeps the order of
 * their statements only if each sends all of its own before it returns; one that does not is noticed, its batch is undone
 * and done again one event after the other, and so are all later ones of its projection.
 */
export async function applyBatch(
  client: BatchClient,
  projection: Projection,
  batch: readonly LogMessage[],
): Promise<Applied> {
  const together =
    client.pipeline === true && batch.length > 1 && projection.proof === undefined && !oneByOne.has(projection);
  const transaction = new BatchTransaction(client, together);
  const begun = client.query('begin');
  begun.catch(() => {}); // told by the statement behind it
  try {
    const before = await lockCheckpoint(client, projection.name);
    await begun;
    const applied: Applied = { seq: before, messages: 0, workspaces: new Set(), skipped: [] };
    if (projection.proof !== undefined) {
      const fresh = messagesAbove(batch, applied);
      if (fresh.length > 0) await projection.proof(fresh, transaction.tx);
    }
    const started: Promise<unknown>[] = [];
    // All statements of the batch in one write instead of one each.
    if (together) client.connection?.stream.cork();
    try {
      for (const event of eventsAbove(projection, batch, applied)) {
        transaction.starting = true;
        const done = handle(projection, event, transaction);
        transaction.starting = false;
        if (together) {
          started.push(done);
          done.catch(() => {}); // told below, unless an event that cannot be read ends the batch before
        } else await done;
      }
    } finally {
      if (together) client.connection?.stream.uncork();
    }
    const failed = (await Promise.allSettled(started)).find((result) => result.status === 'rejected');
    if (transaction.late) {
      oneByOne.add(projection);
      await client.query('rollback');
      return await applyBatch(client, projection, batch);
    }
    if (failed) throw failed.reason as Error;
    if (applied.seq > before) {
      const values = [projection.name, applied.seq];
      await client.query('update projection_checkpoint set seq = $2 where projection = $1', values);
    }
    await client.query('commit');
    return applied;
  } catch (error) {
    await client.query('rollback').catch(() => {}); // the connection is gone, and with it the transaction
    throw error;
  }
}

/** Makes the row when it is missing, so that there is always one to lock. */
async function lockCheckpoint(client: BatchClient, projection: string): Promise<number> {
  const { rows } = await client.query<{ seq: string }>(
    `insert into projection_checkpoint (projection, seq) values ($1, 0)
     on conflict (projection) do update set seq = projection_checkpoint.seq returning seq`,
    [projection],
  );
  return Number(rows[0]?.seq);
}

/** Rejects where the handler throws, so that the others are waited for in any case. */
async function handle(projection: Projection, event: AnyEvent, { tx }: BatchTransaction): Promise<unknown> {
  return projection.on[event.type]?.(event, tx) as unknown;
}

/** Each once: a batch may hold a message that was given out again. */
function messagesAbove(batch: readonly LogMessage[], applied: Applied): LogMessage[] {
  const fresh: LogMessage[] = [];
  for (const message of batch) {
    if (message.seq <= applied.seq) continue;
    applied.seq = message.seq;
    fresh.push(message);
  }
  applied.messages = fresh.length;
  return fresh;
}

/** Those that the projection has a handler for, in their newest version. */
function* eventsAbove(projection: Projection, batch: readonly LogMessage[], applied: Applied): Generator<AnyEvent> {
  for (const message of batch) {
    if (message.seq <= applied.seq) continue;
    applied.seq = message.seq;
    applied.messages++;
    const skip = (because: string) => applied.skipped.push({ seq: message.seq, subject: message.subject, because });
    const read = readEvents(message);
    if ('garbage' in read) {
      skip(read.garbage);
      continue;
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
}
