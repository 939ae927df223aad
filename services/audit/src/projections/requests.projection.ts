import { NO_WORKSPACE, type AuthFailureRecord, type RequestRecord } from '@cortex/contracts';
import { defineProjection, type Recorded } from '@cortex/eventstore';
import { asFlag, asNumber, asText, asTime, columnsOf, REQUEST_COUNTS, REQUEST_TEXTS } from './record-fields.js';
import type { AuditDb } from './tables.js';
import type { Transaction } from 'kysely';

type RequestEvent =
  { type: 'RequestRecorded'; data: RequestRecord } | { type: 'AuthenticationRefused'; data: AuthFailureRecord };

async function insert({ data, workspace }: Recorded & RequestEvent, tx: Transaction<AuditDb>): Promise<void> {
  const id = asText(data.call_id);
  const created_at = asTime(data.at);
  if (id === null || created_at === null) return;
  const authenticated = data.type === 'RequestRecorded';
  const record = authenticated ? data : { ...data, outcome: 'denied', duration_ms: null, dev_bypass: null };
  const row = {
    id,
    workspace_id: asText(workspace) ?? NO_WORKSPACE,
    created_at,
    type: authenticated ? ('cortex_audit' as const) : ('cortex_auth_failure' as const),
    ...columnsOf(record, REQUEST_TEXTS, REQUEST_COUNTS),
    duration_ms: asNumber(record.duration_ms),
    dev_bypass: asFlag(record.dev_bypass),
  };
  await tx
    .insertInto('requests')
    .values(row)
    .onConflict((oc) => oc.column('id').doNothing())
    .execute();
}

/** Every authenticated request that is no tool call, and every refused authentication. */
export const requests = defineProjection<RequestEvent, AuditDb>({
  name: 'requests_v1',
  subject: 'cortex.call.mcp-edge.*',
  tables: ['requests'],
  on: {
    RequestRecorded: insert,
    AuthenticationRefused: insert,
  },
});
