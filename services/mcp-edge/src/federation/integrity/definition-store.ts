import type { Bus } from '@cortex/bus';
import { NO_WORKSPACE } from '@cortex/contracts';
import { type ItemKind } from '@cortex/contracts/definition';
import { tenantDb, waitFor } from '@cortex/eventstore';
import type { Pool } from '@cortex/eventstore/pool';
import type { EdgeDb } from '../../projections/tables.js';
import { definitions } from '../../projections/definitions.projection.js';
import type { Testimony } from './witness.js';

/** One definition that an item had. */
export interface KnownDefinition {
  readonly digest: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly first_seen_at: Date;
  readonly approved_at: Date | null;
  readonly approved_by: string | null;
}

export interface ItemName {
  readonly backend: string;
  readonly kind: ItemKind;
  readonly name: string;
}

/** Of what was never approved. */
const KEPT_MS = 365 * 24 * 60 * 60 * 1000;

/** Reads the history of definitions. All of it rejects while PostgreSQL is away. */
export class DefinitionStore {
  constructor(
    private readonly bus: Bus,
    private readonly pool: Pool,
  ) {}

  /** Newest first; with `seq` not before that commit is in. */
  async of({ backend, kind, name }: ItemName, seq: number): Promise<KnownDefinition[]> {
    await waitFor({ bus: this.bus, pool: this.pool, projection: definitions, seq });
    return this.#db()
      .selectFrom('definitions')
      .select(['digest', 'fields', 'first_seen_at', 'approved_at', 'approved_by'])
      .where('backend', '=', backend)
      .where('kind', '=', kind)
      .where('original', '=', name)
      .where((eb) =>
        eb.or([eb('approved_at', 'is not', null), eb('first_seen_at', '>', new Date(Date.now() - KEPT_MS))]),
      )
      .orderBy('first_seen_at', 'desc')
      .orderBy('digest')
      .execute();
  }

  /** Of every item of a backend its newest approval, or where it has none the newest of what was seen. */
  async testimonies(backend: string): Promise<Testimony[]> {
    const rows = await this.#db()
      .selectFrom('definitions')
      .distinctOn(['kind', 'original'])
      .select(['kind', 'original', 'digest', 'first_seen_at', 'approved_at', 'approved_by'])
      .where('backend', '=', backend)
      .orderBy('kind')
      .orderBy('original')
      .orderBy('approved_at', (order) => order.desc().nullsLast())
      .orderBy('first_seen_at', 'desc')
      .execute();
    return rows.map(({ kind, original: name, digest, first_seen_at, approved_at, approved_by: by }) => ({
      kind,
      name,
      digest,
      approved: approved_at !== null,
      at: (approved_at ?? first_seen_at).toISOString(),
      by,
      from: 'the database',
    }));
  }

  #db() {
    return tenantDb<EdgeDb>(this.pool, NO_WORKSPACE);
  }
}
