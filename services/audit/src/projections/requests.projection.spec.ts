import type { AuthFailureRecord, RequestRecord } from '@cortex/contracts';
import { projectionFixture } from '@cortex/testing';
import { describe, expect, it } from '@jest/globals';
import { requests } from './requests.projection.js';
import { migrations } from './tables.js';

const listed: RequestRecord = {
  type: 'RequestRecorded',
  call_id: 'req_1',
  at: '2026-01-05T10:00:00.000Z',
  method: 'tools/list',
  target_app: 'gateway',
  caller_sub: 'owner',
  caller_role: 'member',
  caller_pool: 'staff',
  caller_email_hash: 'anon',
  client_id: 'cli',
  session_id: 'ses_1',
  scope_used: 'mcp:cortex:read',
  params_hash: null,
  outcome: 'failed',
  error_code: '-32602',
  error_kind: 'invalid_argument',
  reason: 'too_large',
  gate: 'arguments',
  duration_ms: 1.5,
  result_bytes: 2048,
  transport: 'sse',
  era: 'legacy',
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  tools_listed: 11,
  tokens_estimate: 512,
  backends_filter: 'crm',
  tool_mode: 'search',
  protocol_version: '2025-11-25',
  origin: 'https://example.org',
  mcp_session_id: 'mcp_1',
  dev_bypass: true,
  request_id: 'http_1',
  replica: 'r1',
  catalog_version: 7,
  token_mode: 'exchange',
  confirmation: 'none',
  task_id: 'task_1',
  round: 1,
};
const refused: AuthFailureRecord = {
  type: 'AuthenticationRefused',
  call_id: 'req_2',
  at: '2026-01-05T10:00:01.000Z',
  reason: 'expired',
  ip_hash: 'fedcba9876543210',
  origin: 'https://example.org',
  request_id: 'http_2',
};

const event = <R extends RequestRecord | AuthFailureRecord>(record: R) => ({
  type: record.type as R['type'],
  data: record,
  at: record.at,
  workspace: '_',
});

describe('requests', () => {
  it('has a row per request, with every field of the record as a column', async () => {
    await using t = await projectionFixture(requests, migrations);
    await t.apply(1, event(listed));
    const { type: _type, call_id, at, ...fields } = listed;
    const counts = ['result_bytes', 'tools_listed', 'tokens_estimate', 'catalog_version', 'round'] as const;
    expect(await t.db.selectFrom('requests').selectAll().execute()).toEqual([
      {
        ...fields,
        ...Object.fromEntries(counts.map((name) => [name, String(listed[name])])),
        id: call_id,
        workspace_id: '_',
        created_at: new Date(at),
        type: 'cortex_audit',
        ip_hash: null,
        success: false,
      },
    ]);
  });

  it('has a row per refused authentication: denied, with its reason and the hash of the address', async () => {
    await using t = await projectionFixture(requests, migrations);
    await t.apply(1, event(refused));
    expect(await t.db.selectFrom('requests').selectAll().executeTakeFirst()).toMatchObject({
      id: 'req_2',
      type: 'cortex_auth_failure',
      outcome: 'denied',
      success: false,
      reason: 'expired',
      ip_hash: 'fedcba9876543210',
      caller_sub: null,
    });
  });

  it('keeps the first record of an id', async () => {
    await using t = await projectionFixture(requests, migrations);
    await t.apply(1, event(listed));
    await t.apply(2, event({ ...listed, method: 'other' }));
    expect(await t.db.selectFrom('requests').select('method').execute()).toEqual([{ method: 'tools/list' }]);
  });
});
