import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@cortex/bus';
import { isCortexError, streamOf, unavailable } from '@cortex/contracts';
import type { Pool } from 'pg';
import type { ProjectionRunner } from './projection-runner.js';
import type { Projection } from './projection.js';
import { consumerState } from './pull.js';

/** Longest wait for a view. */
export const WAIT_MS = 2000;
/** Asking the server whether anything is pending costs more than a look at the checkpoint. */
const ASK_EVERY_MS = 100;

export interface WaitForOptions {
  bus: Bus;
  /** Of the service's own role and schema. */
  pool: Pool;
  /** Told at once by the runner when it is this process that runs the projection. */
  runner?: ProjectionRunner;
  projection: Pick<Projection, 'name' | 'subject'>;
  /** Sequence that a command answered. */
  seq: number;
  /** At most, and by default, 2000. */
  ms?: number;
  signal?: AbortSignal;
}

/**
 * Returns when the view holds the commit, or when nothing is pending for it: a view of other subjects never meets that
 * sequence. Errors: `unavailable` when it does not within `ms`, `cancelled` by the signal's own reason.
 */
export async function waitFor(options: WaitForOptions): Promise<void> {
  const { bus, pool, runner, projection, seq, signal } = options;
  const until = performance.now() + Math.min(options.ms ?? WAIT_MS, WAIT_MS);
  const left = () => until - performance.now();
  if (await runner?.reached(projection.name, seq, ASK_EVERY_MS)) return;
  let asked = -Infinity;
  for (let pause = 2; ; pause = Math.min(pause * 2, 50)) {
    signal?.throwIfAborted();
    const { rows } = await pool.query<{ seq: string }>('select seq from projection_checkpoint where projection = $1', [
      projection.name,
    ]);
    if (Number(rows[0]?.seq ?? 0) >= seq) return;
    if (performance.now() - asked > ASK_EVERY_MS && pause > 2) {
      asked = performance.now();
      // The commit is stored already, so the consumer counts it if it is one of its own.
      if (await isIdle(bus, projection)) return;
    }
    if (left() <= 0) {
      throw unavailable('view', `${projection.name} does not show your last change yet`, 'try again in a moment', {
        details: { projection: projection.name, seq },
      });
    }
    await sleep(Math.min(pause, Math.max(1, left())));
  }
}

/** False also while the bus cannot tell: the checkpoint may come on all the same. */
async function isIdle(bus: Bus, { name, subject }: Pick<Projection, 'name' | 'subject'>): Promise<boolean> {
  try {
    const { num_pending, num_ack_pending } = await consumerState(bus, streamOf(subject), name);
    return num_pending === 0 && num_ack_pending === 0;
  } catch (error) {
    if (isCortexError(error) && error.kind === 'unavailable') return false;
    throw error;
  }
}
