import type { CallFinished, CallStarted } from '@cortex/contracts';
import type { Recorded } from '@cortex/eventstore';
import { projectionFixture, type ProjectionFixture } from '@cortex/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { callStatus } from './call-status.js';
import { migrations, type AuditDb } from './tables.js';
import { toolCalls, type ToolCallEvent } from './tool-calls.projection.js';

const started: CallStarted = {
  type: 'ToolCallStarted',
  call_id: 'call_1',
  at: '2026-01-05T10:00:00.000Z',
  tool: 'remote_bash',
  service: 'remote-ops',
  target_app: 'gateway',
  caller_sub: 'owner',
  client_id: 'cli',
  session_id: 'ses_1',
  workspace: 'w1',
  params_hash: '0123456789abcdef',
  args_bytes: 120,
  transport: 'http',
  era: 'modern',
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  deadline_ms: 30_000,
};

const finished: CallFinished = {
  ...started,
  type: 'ToolCallFinished',
  finished_at: '2026-01-05T10:00:01.250Z',
  outcome: 'failed',
  error_kind: 'unavailable',
  error_code: 'tool_error',
  reason: 'device_offline',
  gate: 'approval',
  mode: 'write',
  decision: 'allow',
  source: 'builtin',
  classes: ['processSpawn', 'networkEgress'],
  approved_by: 'per_1',
  remembered_rule: 'rule_1',
  duration_ms: 1250.5,
  result_bytes: 4096,
  cost_usd: 0.0125,
  caller_role: 'member',
  caller_pool: 'staff',
  caller_email_hash: 'anon',
  scope_used: 'mcp:cortex:write',
  protocol_version: '2026-07-28',
  origin: 'https://example.org',
  mcp_session_id: 'mcp_1',
  dev_bypass: false,
  request_id: 'req_1',
  replica: 'r1',
  catalog_version: 7,
  tool_original: 'bash',
  token_mode: 'passthrough',
  confirmation: 'accepted',
  task_id: 'task_1',
  round: 2,
};

const event = <R extends CallStarted | CallFinished>(record: R) => ({
  type: record.type as R['type'],
  data: record,
  at: record.at,
  workspace: record.workspace ?? '_',
});
const start = (changes: Partial<CallStarted> = {}) => event({ ...started, ...changes });
const end = (changes: Partial<CallFinished> = {}) => event({ ...finished, ...changes });

let t: ProjectionFixture<ToolCallEvent, AuditDb>;
let seq = 0;
/** One commit after the last one. */
const apply = (commit: ToolCallEvent & Partial<Recorded>) => t.apply(++seq, commit);

beforeAll(async () => {
  t = await projectionFixture(toolCalls, migrations);
});
beforeEach(() => t.db.deleteFrom('tool_calls').execute());
afterAll(async () => {
  await t[Symbol.asyncDispose]();
});

describe('tool_calls', () => {
  it('makes one row of start and end, with every field of the record as a column', async () => {
    await apply(start());
    await apply(end());
    const { type: _type, call_id, at, finished_at, workspace, deadline_ms, ...fields } = finished;
    const rows = await t.db.selectFrom('tool_calls').selectAll().execute();
    const counts = ['args_bytes', 'result_bytes', 'round', 'catalog_version', 'cost_usd'] as const;
    expect(rows).toEqual([
      {
        ...fields,
        // PostgreSQL gives whole and exact numbers as text.
        ...Object.fromEntries(counts.map((name) => [name, String(finished[name])])),
        deadline_ms: String(deadline_ms),
        id: call_id,
        workspace_id: workspace,
        created_at: new Date(at),
        finished_at: new Date(finished_at),
        method: 'tools/call',
        success: false,
      },
    ]);
  });

  it('has a row while a call runs, and the same row when it ends', async () => {
    await apply(start());
    const running = await t.db.selectFrom('tool_calls').select(['id', 'tool', 'outcome', 'success']).execute();
    expect(running).toEqual([{ id: 'call_1', tool: 'remote_bash', outcome: null, success: null }]);
    await apply(end({ outcome: 'succeeded' }));
    const ended = await t.db.selectFrom('tool_calls').select(['id', 'tool', 'outcome', 'success']).execute();
    expect(ended).toEqual([{ id: 'call_1', tool: 'remote_bash', outcome: 'succeeded', success: true }]);
  });

  it('needs no start: the end says it all', async () => {
    await apply(end());
    expect(await t.db.selectFrom('tool_calls').select(['tool', 'created_at', 'outcome']).execute()).toEqual([
      { tool: 'remote_bash', created_at: new Date(started.at), outcome: 'failed' },
    ]);
  });

  it('keeps the first end of a call, whatever is recorded again under its id', async () => {
    await apply(start());
    await apply(end());
    await apply(end({ outcome: 'succeeded', duration_ms: 9 }));
    await apply(start({ tool: 'other' }));
    expect(await t.db.selectFrom('tool_calls').select(['tool', 'outcome', 'duration_ms']).execute()).toEqual([
      { tool: 'remote_bash', outcome: 'failed', duration_ms: 1250.5 },
    ]);
  });

  it('calls a start without an end interrupted once its deadline has passed, and running before', async () => {
    await apply(start({ call_id: 'cut_off' }));
    await apply(start({ call_id: 'under_way', at: new Date().toISOString(), deadline_ms: 60_000 }));
    await apply(end({ call_id: 'ended' }));
    const rows = await t.db
      .selectFrom('tool_calls')
      .select(['id', callStatus.as('status')])
      .orderBy('id')
      .execute();
    expect(rows).toEqual([
      { id: 'cut_off', status: 'interrupted' },
      { id: 'ended', status: 'failed' },
      { id: 'under_way', status: 'running' },
    ]);
  });

  it('takes what a client put into the name of an unknown tool: NUL bytes, or more than an index holds', async () => {
    await apply(end({ call_id: 'nul', tool: 'a\0b' }));
    await apply(end({ call_id: 'long', tool: '\u{1F600}'.repeat(50_000) }));
    const rows = await t.db.selectFrom('tool_calls').select(['id', 'tool']).orderBy('id').execute();
    expect(rows.map(({ id, tool }) => [id, tool?.length])).toEqual([
      ['long', 500],
      ['nul', 3],
    ]);
  });

  it('goes on after a record that is none: without id or time it has no row, a field of another type is null', async () => {
    await apply(event({ type: 'ToolCallFinished', at: 'yesterday' } as unknown as CallFinished));
    await apply(end({ call_id: 7 as unknown as string }));
    await apply(end({ result_bytes: '12; drop' as unknown as number, classes: 'x' as unknown as string[] }));
    await apply(end({ call_id: 'call_2', result_bytes: 1e300, cost_usd: Infinity, args_bytes: 1.5 }));
    const rows = await t.db
      .selectFrom('tool_calls')
      .select(['id', 'result_bytes', 'args_bytes', 'cost_usd', 'classes'])
      .orderBy('id')
      .execute();
    expect(rows).toEqual([
      { id: 'call_1', result_bytes: null, args_bytes: '120', cost_usd: '0.0125', classes: [] },
      { id: 'call_2', result_bytes: null, args_bytes: null, cost_usd: null, classes: finished.classes },
    ]);
  });

  it('belongs to the workspace of the call, or to none', async () => {
    await apply(start());
    await apply(start({ call_id: 'call_2', workspace: undefined }));
    expect(await t.db.selectFrom('tool_calls').select('workspace_id').orderBy('id').execute()).toEqual([
      { workspace_id: 'w1' },
      { workspace_id: '_' },
    ]);
  });
});
