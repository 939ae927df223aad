import { rebuildProjection } from '@cortex/eventstore';
import { eventually } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { auditService } from './audit.module.js';
import { startAudit } from './testing/audit.js';

const TABLES = ['executions', 'execution_costs', 'session_tree', 'memberships'];

it('P86 P87 rebuilding the views of the executions gives exactly the rows that they have', async () => {
  await using audit = await startAudit();
  await audit.member('w1', 'per_1');
  const outcomes = ['completed', 'failed', 'cancelled'] as const;
  for (let n = 0; n < 12; n++) {
    const session = await audit.session(`s${n}`, { workspace: n % 3 ? 'w1' : null, person_id: `per_${n % 2}` });
    const execution_id = n === 5 ? undefined : await audit.start(session);
    await audit.cost(session, `c${n}`, { ...(execution_id && { execution_id }), cost_usd: n / 10, num_turns: n });
    await audit.cost(session, `d${n}`, { ...(execution_id && { execution_id }), cost_usd: null });
    if (n % 4 === 3) continue;
    await audit.finish(session, { outcome: outcomes[n % 3]!, duration_s: n, final_output: 'done' });
    await audit.finish(session, { outcome: outcomes[(n + 1) % 3]! });
    await audit.end(session, '2026-01-05T10:00:00.000Z');
  }
  const owner = audit.app.postgres.pool();
  const rowsOf = async (table: string) => (await owner.query(`select * from audit.${table} order by 1, 2`)).rows;
  const all = () => Promise.all(TABLES.map(rowsOf));
  await eventually(async () => {
    const [executions, costs, sessions] = await all();
    expect(executions?.filter(({ status }) => status !== 'running')).toHaveLength(9);
    expect([executions?.length, costs?.length]).toEqual([12, 11]);
    expect(sessions?.filter(({ ended_at }) => ended_at !== null)).toHaveLength(9);
  });
  const live = await all();
  const bus = await audit.app.nats.busAs('provision');
  for (const projection of auditService.projections ?? []) {
    if (projection.proof !== undefined) continue;
    await rebuildProjection({ bus, adminUrl: audit.app.postgres.adminUrl, service: auditService, projection });
  }
  expect(await all()).toEqual(live);
});
