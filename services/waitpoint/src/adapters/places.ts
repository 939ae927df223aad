import { NO_WORKSPACE } from '@cortex/contracts';
import { tenantDb, waitFor } from '@cortex/eventstore';
import { HOST, type ServiceHost } from '@cortex/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { WaitpointDb } from '../projections/tables.js';
import { waitpoints } from '../projections/waitpoints.projection.js';

/** Of ids that were found, so that a signal of a busy waitpoint asks PostgreSQL once; a place never changes. */
const KEPT = 20_000;

/** In which workspace a waitpoint is: a signal knows nothing but its id. */
@Injectable()
export class Places {
  readonly #known = new Map<string, string>();

  constructor(@Inject(HOST) private readonly host: ServiceHost) {}

  /** Null for an id that the view does not have. */
  async find(id: string): Promise<string | null> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const row = await tenantDb<WaitpointDb>(this.host.pool, NO_WORKSPACE)
      .selectFrom('agenda')
      .select('workspace')
      .where('waitpoint_id', '=', id)
      .executeTakeFirst();
    if (row === undefined) return null;
    this.know(id, row.workspace);
    return row.workspace;
  }

  /** Where one is that was made here, which need not be asked for. */
  know(id: string, workspace: string | null): void {
    const oldest = this.#known.size >= KEPT ? this.#known.keys().next().value : undefined;
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(id, workspace ?? NO_WORKSPACE);
  }

  /** The same, once the view holds what was recorded before now; errors: `unavailable`. */
  async findSurely(id: string): Promise<string | null> {
    // Past every sequence: so it is there when nothing is pending for the view.
    await this.#until(Number.MAX_SAFE_INTEGER);
    return this.find(id);
  }

  /** Returns when every reader sees the commit; after 2 s in any case, since what is recorded needs no view to be true. */
  async shown(seq: number): Promise<void> {
    await this.#until(seq).catch((error: unknown) => this.host.log.warn({ err: error, seq }, 'the view is behind'));
  }

  #until(seq: number): Promise<void> {
    const { bus, pool, projections: runner } = this.host;
    return waitFor({ bus, pool, runner, projection: waitpoints, seq });
  }
}
