import type { CallRecord } from '@cortex/contracts';
import { rebuildProjection } from '@cortex/eventstore';
import { eventually, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { AuditModule, auditService } from './audit.module.js';
import { requests } from './projections/requests.projection.js';
import { toolCalls } from './projections/tool-calls.projection.js';

const call = (n: number) => ({
  call_id: `call_${n}`,
  at: new Date(Date.UTC(2026, 0, 5, 10, 0, n)).toISOString(),
  tool: 'remote_bash',
  service: 'remote-ops',
  target_app: 'gateway',
  caller_sub: 'owner',
  client_id: 'cli',
  params_hash: null,
  args_bytes: n,
  transport: 'http' as const,
  era: 'modern' as const,
  deadline_ms: 1_000,
  ...(n % 2 && { workspace: 'w1' }),
});

/** Calls that end, calls that are cut off, ends that are recorded twice, requests, and refused tokens. */
function* records(): Generator<[subject: string, record: CallRecord]> {
  for (let n = 0; n < 60; n++) {
    yield ['cortex.call.remote-ops.remote_bash', { type: 'ToolCallStarted', ...call(n) }];
    if (n % 5 === 0) continue;
    const { at: finished_at } = call(n + 1);
    const end = { ...call(n), finished_at, classes: ['processSpawn'], duration_ms: n / 8, result_bytes: n };
    yield ['cortex.call.remote-ops.remote_bash', { type: 'ToolCallFinished', outcome: 'succeeded', ...end }];
    if (n % 7 === 0) {
      yield ['cortex.call.remote-ops.remote_bash', { type: 'ToolCallFinished', outcome: 'failed', ...end }];
    }
  }
  const {
    call_id: _id,
    tool: _tool,
    service: _service,
    args_bytes: _bytes,
    deadline_ms: _deadline,
    ...request
  } = call(0);
  const listed = { ...request, method: 'tools/list', outcome: 'succeeded' as const, duration_ms: 1, result_bytes: 2 };
  yield ['cortex.call.mcp-edge._request', { type: 'RequestRecorded', call_id: 'req_1', ...listed }];
  const refused = { call_id: 'req_2', at: request.at, reason: 'expired', ip_hash: 'fedcba9876543210' };
  yield ['cortex.call.mcp-edge._auth_failure', { type: 'AuthenticationRefused', ...refused }];
}

it('rebuilding the views of the call records gives exactly the rows that they have', async () => {
  await using app = await startService({ module: AuditModule, def: auditService });
  const edge = await app.nats.busAs('mcp-edge');
  let seq = 0;
  for (const [subject, record] of records()) ({ seq } = await edge.publishAcked(subject, JSON.stringify(record)));

  const owner = app.postgres.pool();
  const rowsOf = async (table: string) => (await owner.query(`select * from audit.${table} order by id`)).rows;
  await eventually(async () => {
    const checkpoints = await owner.query('select projection, seq from audit.projection_checkpoint order by 1');
    expect(checkpoints.rows).toEqual([
      { projection: 'call_chain_v1', seq: String(seq) },
      { projection: 'requests_v1', seq: String(seq) },
      { projection: 'tool_calls_v1', seq: String(seq) },
    ]);
  });
  const live = { tool_calls: await rowsOf('tool_calls'), requests: await rowsOf('requests') };
  expect([live.tool_calls.length, live.requests.length]).toEqual([60, 2]);

  const { adminUrl } = app.postgres;
  const bus = await app.nats.busAs('provision');
  for (const projection of [toolCalls, requests]) {
    await rebuildProjection({ bus, adminUrl, service: auditService, projection });
  }
  expect({ tool_calls: await rowsOf('tool_calls'), requests: await rowsOf('requests') }).toEqual(live);
});

it('shows a workspace its own calls alone', async () => {
  await using app = await startService({ module: AuditModule, def: auditService });
  const edge = await app.nats.busAs('mcp-edge');
  for (const [subject, record] of records()) await edge.publishAcked(subject, JSON.stringify(record));
  const service = app.postgres.pool('audit');
  const seen = await eventually(async () => {
    const client = await service.connect();
    try {
      await client.query(`begin; select set_config('cortex.workspace', 'w1', true)`);
      const { rows } = await client.query<{ workspace_id: string }>('select workspace_id from audit.tool_calls');
      return rows.length === 30 && rows.map((row) => row.workspace_id);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
  expect(new Set(seen)).toEqual(new Set(['w1']));
});
