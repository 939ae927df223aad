import { rebuildProjection } from '@cortex/eventstore';
import { eventually, startService } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { MemoryModule, memoryService } from './memory.module.js';
import { agent, tellWorkspace } from './testing/lab.js';
import { proposeFact } from './tools/propose-fact.tool.js';

it('rebuilding the views of the memory gives exactly the rows that they have', async () => {
  await using app = await startService({ module: MemoryModule, def: memoryService });
  await tellWorkspace(app);
  const names = ['prod', 'staging', 'local', 'prod'];
  for (const [i, name] of names.entries()) {
    for (const repo of [undefined, 'r1']) {
      const fact = { domain: `Domain ${i % 2}`, topic: 'deploy target', content: `The deploy target is ${name}`, repo };
      await app.call(proposeFact, { ...fact, confidence: 0.9 - i / 10 }, agent('a1'));
      await app.call(proposeFact, { ...fact, topic: `about ${name}` }, { workspace: 'w2' }).catch(() => {});
    }
  }

  const owner = app.postgres.pool();
  const tables = memoryService.projections!.flatMap((projection) => projection.tables);
  const rows = async () =>
    Object.fromEntries(
      await Promise.all(
        tables.map(async (table) => {
          const { rows: all } = await owner.query<object>(`select * from memory.${table}`);
          return [table, all.map((row) => JSON.stringify(row)).sort()] as const;
        }),
      ),
    );
  const last = await app.host.bus.direct.last('CORTEX_EVENTS', 'cortex.evt.memory.>');
  await eventually(async () => {
    const { rows: checkpoints } = await owner.query(
      `select seq from memory.projection_checkpoint where projection = 'memory_v1'`,
    );
    expect(checkpoints).toEqual([{ seq: String(last!.seq) }]);
  });
  const live = await rows();
  for (const table of tables) expect([table, live[table]!.length > 0]).toEqual([table, true]);

  const bus = await app.nats.busAs('provision');
  for (const projection of memoryService.projections!) {
    await rebuildProjection({ bus, adminUrl: app.postgres.adminUrl, service: memoryService, projection });
  }
  expect(await rows()).toEqual(live);
});
