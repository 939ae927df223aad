import { CALLS_STREAM } from '@cortex/contracts';
import { CONFIG, HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Config } from '../config.js';

const BATCH = 10_000;
const DAY_MS = 86_400_000;

/** What a purge let go. */
export interface Purged {
  /** Rows of calls and requests. */
  deleted: number;
  retentionDays: number;
  /** ISO 8601: what was recorded before is gone. */
  cutoff: string;
}

/**
 * Lets the rows of call records go that are older than the retention. The records themselves leave the stream by its own maximum age,
 * which follows the same setting. Of the hash chain that part stays of which there are records, and the link before: the rest of the chain
 * is proven from there.
 */
@Injectable()
export class Retention {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(HOST) private readonly host: ServiceHost,
  ) {}

  /** Errors: `unavailable`, or what PostgreSQL says. What was deleted until then stays deleted. */
  async purge(now: Date, signal: AbortSignal): Promise<Purged> {
    const { projections: runner, log } = this.host;
    const retentionDays = this.config.CORTEX_AUDIT_RETENTION_DAYS;
    const before = new Date(now.getTime() - retentionDays * DAY_MS);
    let deleted = 0;
    for (const table of ['tool_calls', 'requests']) {
      deleted += await runner.deleteWhere({ table, id: 'id', column: 'created_at', before, batch: BATCH, signal });
    }
    const link = await this.#lastLinkBeforeStream(signal);
    await runner.deleteWhere({
      table: 'call_chain',
      id: 'first_seq',
      column: 'last_seq',
      before: link,
      batch: BATCH,
      signal,
    });
    const cutoff = before.toISOString();
    log.info({ deleted, retentionDays, cutoff }, 'purged the audit trail');
    return { deleted, retentionDays, cutoff };
  }

  /** Records leave the stream while this is asked, which only keeps more of the chain. */
  async #lastLinkBeforeStream(signal: AbortSignal): Promise<number> {
    const { bus, pool } = this.host;
    const reply = await bus.request(`$JS.API.STREAM.INFO.${CALLS_STREAM}`, '', { timeoutMs: 5_000, signal });
    const first = reply.json<{ state?: { first_seq?: number } }>().state?.first_seq ?? 0;
    const { rows } = await pool.query<{ seq: string | null }>(
      'select max(last_seq) as seq from call_chain where last_seq < $1',
      [first],
    );
    return Number(rows[0]?.seq ?? 0);
  }
}
