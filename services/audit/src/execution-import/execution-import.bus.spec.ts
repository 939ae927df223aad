import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, tempDir } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { startAudit } from '../testing/audit.js';

const hoursAgo = (hours: number): string => new Date(Date.now() - hours * 3_600_000).toISOString();
const run = (id: string, status: string, more: object = {}) => ({
  id: `exec_local_0_${id}`,
  status,
  project: 'arm',
  session_id: `old-${id}`,
  started_at: hoursAgo(3),
  ended_at: hoursAgo(2),
  ...more,
});

it.each([
  ['a list', (records: object[]) => records],
  ['an object by id', (records: object[]) => Object.fromEntries(records.map((record, n) => [`id${n}`, record]))],
])('takes executions.json over once, %s: with their ends and times, what ran as stale', async (_what, shape) => {
  const dir = await tempDir('import');
  await mkdir(join(dir, 'data'), { recursive: true });
  const records = [
    run('a', 'completed', { cost_usd: 0.31, num_turns: 4, final_output: 'done', unheard_of: 1 }),
    run('b', 'failed', { error: 'rate limit', started_at: hoursAgo(5) }),
    run('c', 'running', { ended_at: null, started_at: hoursAgo(6) }),
    run('d', 'completed', { started_at: '2020-01-01T00:00:00Z', ended_at: '2020-01-01T01:00:00+01:00' }),
    run('e', 'sleeping'),
    run('f', 'failed', { cost_usd: 'much' }),
    { id: 'run_1', status: 'completed' },
  ];
  await writeFile(join(dir, 'data', 'executions.json'), JSON.stringify(shape(records)));
  const env = { CORTEX_HOME: dir };
  await using audit = await startAudit({ env });
  await eventually(async () => {
    const { executions, total } = await audit.query({ status: 'all' });
    expect(total).toBe(3);
    expect(executions).toMatchObject([
      { id: 'exec_local_0_a', status: 'completed', cost_usd: 0.31, num_turns: 4, elapsed_ms: expect.any(Number) },
      { id: 'exec_local_0_b', status: 'failed', error: 'rate limit' },
      { id: 'exec_local_0_c', status: 'stale' },
    ]);
  });
  expect(await audit.query({ execution_id: 'exec_local_0_d' })).toMatchObject({
    execution: { started_at: '2020-01-01T00:00:00.000Z', ended_at: '2020-01-01T00:00:00.000Z' },
  });
  expect(audit.app.log.some((line) => line.includes('"count":4') && line.includes('"skipped":3'))).toBe(true);
  // What came in without an owner is an operator's to see.
  expect(await audit.query({ status: 'all' }, { principal: { id: 'per_1' }, workspace: null })).toMatchObject({
    total: 0,
  });

  const { nats, postgres } = audit.app;
  await writeFile(join(dir, 'data', 'executions.json'), JSON.stringify([...records, run('g', 'completed')]));
  await audit.app.stop();
  await using again = await startAudit({ nats, postgres, env });
  const session = await again.session('s1');
  await again.start(session);
  await eventually(async () => expect(await again.query({ status: 'all' })).toMatchObject({ total: 4 }));
});

it('says so of a file that is none, and goes on', async () => {
  const dir = await tempDir('import');
  await mkdir(join(dir, 'data'), { recursive: true });
  await writeFile(join(dir, 'data', 'executions.json'), '[{');
  await using audit = await startAudit({ env: { CORTEX_HOME: dir } });
  await eventually(() => audit.app.log.some((line) => line.includes('executions.json is no list of executions')));
  expect(await audit.query({ status: 'all' })).toMatchObject({ total: 0 });
});
