import type { Definition, DefinitionEvent, ItemKind } from '@cortex/contracts/definition';
import { defineProjection, type Recorded } from '@cortex/eventstore';
import type { Transaction } from 'kysely';
import { AUTOMATIC } from '../federation/integrity/catalog-state.js';
import type { EdgeDb } from './tables.js';

interface Seen {
  kind: ItemKind;
  name: string;
  definition: Definition;
}

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

function keep(
  { id: backend, at }: Recorded,
  { kind, name: original, definition: { digest, fields } }: Seen,
  by: string | null,
  tx: Transaction<EdgeDb>,
): Promise<unknown> {
  const approved = by === null ? {} : { approved_at: at, approved_by: by };
  const row = { backend, kind, original, digest, fields: JSON.stringify(fields), first_seen_at: at };
  return tx
    .insertInto('definitions')
    .values({ ...row, ...approved })
    .onConflict((oc) => {
      const known = oc.columns(['backend', 'kind', 'original', 'digest']);
      return by === null ? known.doNothing() : known.doUpdateSet(approved);
    })
    .execute();
}

/** What nobody approved is not kept for ever. */
const forget = ({ id: backend, at }: Recorded, tx: Transaction<EdgeDb>): Promise<unknown> =>
  tx
    .deleteFrom('definitions')
    .where('backend', '=', backend)
    .where('approved_at', 'is', null)
    .where('first_seen_at', '<', new Date(Date.parse(at) - YEAR_MS))
    .execute();

/** The history of every item of every backend, by digest. Source: gateway, section 17.8. */
export const definitions = defineProjection<DefinitionEvent, EdgeDb>({
  name: 'definitions_v1',
  subject: 'cortex.evt.mcp-edge.*.catalog.*',
  tables: ['definitions'],
  on: {
    ToolDefinitionAdded: (event, tx) => keep(event, event.data, event.data.approved ? AUTOMATIC : null, tx),
    ToolDefinitionMutated(event, tx) {
      const { data } = event;
      const { effective, approved } = data;
      const kept = [keep(event, data, approved && effective === undefined ? AUTOMATIC : null, tx), forget(event, tx)];
      if (effective !== undefined) kept.push(keep(event, { ...data, definition: effective }, AUTOMATIC, tx));
      return Promise.all(kept);
    },
    ToolDefinitionAcknowledged: (event, tx) => keep(event, event.data, event.data.by, tx),
    ToolDefinitionRolledBack: (event, tx) => keep(event, event.data, event.data.by, tx),
  },
});
