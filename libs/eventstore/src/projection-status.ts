import type { Bus } from '@cortex/bus';
import { schemaOf, streamOf } from '@cortex/contracts';
import pg from 'pg';
import { connectAdmin } from './connect-admin.js';
import type { Provisionable } from './provision-database.js';
import { consumerState, lossOf, streamState } from './pull.js';

export interface ProjectionStatus {
  service: string;
  projection: string;
  subject: string;
  /** The checkpoint: highest sequence of the stream that is in the view; 0 when it never ran. */
  seq: number;
  /** Messages of its subject that are not in the view; null when the consumer does not exist. */
  pending: number | null;
  /** View and log do not belong together (`lossOf`), and a rebuild mends it. The view stands still until then. */
  lost: boolean;
}

/** Where every projection of these services stands, with the provisioning identity. */
export async function projectionStatus(options: {
  bus: Bus;
  adminUrl: string;
  services: readonly Provisionable[];
}): Promise<ProjectionStatus[]> {
  const client = await connectAdmin(options.adminUrl);
  try {
    const all: ProjectionStatus[] = [];
    for (const { name: service, projections = [] } of options.services) {
      if (projections.length === 0) continue;
      const { rows } = await client.query<{ projection: string; seq: string }>(
        `select projection, seq from ${pg.escapeIdentifier(schemaOf(service))}.projection_checkpoint`,
      );
      const checkpoints = new Map(rows.map(({ projection, seq }) => [projection, Number(seq)]));
      for (const { name: projection, subject } of projections) {
        const [state, log] = await Promise.all([
          consumerState(options.bus, streamOf(subject), projection).catch(() => null),
          streamState(options.bus, streamOf(subject)).catch(() => null),
        ]);
        const pending = state && state.num_pending + state.num_ack_pending;
        const seq = checkpoints.get(projection) ?? 0;
        const lost = state !== null && log !== null && lossOf(seq, state, log) !== null;
        all.push({ service, projection, subject, seq, pending, lost });
      }
    }
    return all;
  } finally {
    await client.end();
  }
}
