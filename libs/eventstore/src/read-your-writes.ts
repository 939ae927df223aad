import type { Bus } from '@cortex/bus';
import type { Pool } from 'pg';
import type { Projection } from './projection.js';

export interface WaitForOptions {
  bus: Bus;
  /** Of the service's own role and schema. */
  pool: Pool;
  projection: Projection;
  /** Sequence that a command answered. */
  seq: number;
  /** Default and most: 2000. */
  ms?: number;
  signal?: AbortSignal;
}

/** Returns when the view holds the commit (or has nothing pending); `unavailable` when it does not within `ms`. */
export async function waitFor(options: WaitForOptions): Promise<void> {
  throw new Error(`no body yet ${options.seq}`);
}
