import { NO_WORKSPACE } from '@cortex/contracts';
import { stateDb, tenantDb } from '@cortex/eventstore';
import { HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { RejectionRow, WaitpointDb } from '../projections/tables.js';

/** Misses a minute over all callers and instances; after that every miss hears 429. */
export const MISS_BUDGET = 60;
const KEPT = 50;
/** How long "used up" is believed without asking again, so that a flood of misses costs the database nothing. */
const BELIEVED_MS = 1_000;

export type Rejection = Pick<RejectionRow, 'reason' | 'waitpoint_id' | 'source'>;

/** The miss budget, and the newest rejections for whoever wonders why a signal does not arrive. */
@Injectable()
export class Rejections {
  #usedUpUntil = 0;

  constructor(@Inject(HOST) private readonly host: ServiceHost) {}

  get usedUp(): boolean {
    return performance.now() < this.#usedUpUntil;
  }

  /** Counts a miss: false when the budget of this minute is used up. */
  async miss(rejection: Rejection): Promise<boolean> {
    if (this.usedUp) return false;
    const { n } = await this.#put(rejection, sql`reason <> 'late'`);
    if (n !== null) return true;
    this.#usedUpUntil = performance.now() + BELIEVED_MS;
    return false;
  }

  /** Keeps a rejection that is no miss. */
  async late(rejection: Rejection): Promise<void> {
    await this.#put(rejection, sql`reason = 'late'`);
  }

  /** The newest first. */
  async newest(): Promise<(Rejection & { at: Date })[]> {
    return tenantDb<WaitpointDb>(this.host.pool, NO_WORKSPACE)
      .selectFrom('rejections')
      .select(['at', 'reason', 'waitpoint_id', 'source'])
      .orderBy('n', 'desc')
      .limit(KEPT)
      .execute();
  }

  /** Drops what neither the budget nor anybody who looks asks for. */
  async trim(): Promise<void> {
    await sql`
      delete from rejections where at < now() - interval '1 minute'
        and n <= (select n from rejections order by n desc offset ${KEPT} limit 1)`.execute(this.#db());
  }

  /** On the database's clock, which all instances share; no more than the budget of one kind within a minute. */
  async #put({ reason, waitpoint_id, source }: Rejection, kind: ReturnType<typeof sql>): Promise<{ n: string | null }> {
    const { rows } = await sql<{ n: string }>`
      insert into rejections (reason, waitpoint_id, source)
      select ${reason}, ${waitpoint_id}, ${source}
      where (select count(*) from rejections where at > now() - interval '1 minute' and ${kind}) < ${MISS_BUDGET}
      returning n`.execute(this.#db());
    return { n: rows[0]?.n ?? null };
  }

  #db() {
    return stateDb<WaitpointDb>(this.host.pool, NO_WORKSPACE);
  }
}
