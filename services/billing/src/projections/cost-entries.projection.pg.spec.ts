import type { CostEvent } from '@cortex/contracts/cost';
import { projectionFixture } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { costEntries } from './cost-entries.projection.js';
import { migrations } from './tables.js';

const record = (id: string, timestamp: string, cost_usd: number | null, project = 'arm', workspace = 'w1') => ({
  workspace,
  subject: `cortex.evt.billing.${workspace}.cost.${id}`,
  type: 'CostRecorded' as const,
  data: {
    entry_id: id,
    timestamp,
    project,
    trigger: 'cli',
    cost_usd,
    num_turns: null,
    duration_s: 0.5,
    backend: 'claude',
    mode: 'api',
    source: 'gateway',
    input_tokens: 1,
    output_tokens: 2,
    cache_read_tokens: 3,
    cache_creation_tokens: 4,
    provider: null,
    model: 'm',
    session_id: 's1',
    owner_session_id: null,
    execution_id: null,
  } satisfies CostEvent['data'],
});
const fixture = () => projectionFixture(costEntries, migrations);
type Fixture = Awaited<ReturnType<typeof fixture>>;
const spending = ({ db }: Fixture) =>
  db.selectFrom('spending').selectAll().orderBy('project').orderBy('quarter').execute();

it('P87 counts a redelivered commit once, and one aggregate once', async () => {
  await using t = await fixture();
  await t.apply(1, record('a', '2026-01-05T10:00:00.000Z', 0.1));
  await t.apply(1, record('a', '2026-01-05T10:00:00.000Z', 0.1));
  await t.apply(2, record('a', '2026-01-05T10:00:00.000Z', 9));
  expect(await t.db.selectFrom('cost_entries').select(['id', 'cost_micros']).execute()).toEqual([
    { id: 'a', cost_micros: '100000' },
  ]);
  expect((await spending(t)).map(({ cost_micros }) => cost_micros)).toEqual(['100000']);
});

it('sums what a project spent per quarter of an hour, over all workspaces', async () => {
  await using t = await fixture();
  await t.apply(1, record('a', '2026-01-05T10:00:00.000Z', 0.1));
  await t.apply(2, record('b', '2026-01-05T10:14:59.999Z', 0.2, 'arm', 'w2'));
  await t.apply(3, record('c', '2026-01-05T10:15:00.000Z', 0.4));
  await t.apply(4, record('d', '2026-01-05T10:00:00.000Z', 0.8, 'leg'));
  await t.apply(5, record('e', '2026-01-05T10:00:00.000Z', null));
  expect(await spending(t)).toEqual([
    { project: 'arm', quarter: new Date('2026-01-05T10:00:00.000Z'), cost_micros: '300000' },
    { project: 'arm', quarter: new Date('2026-01-05T10:15:00.000Z'), cost_micros: '400000' },
    { project: 'leg', quarter: new Date('2026-01-05T10:00:00.000Z'), cost_micros: '800000' },
  ]);
});

it('lets go what is older than the time of a pruning', async () => {
  await using t = await fixture();
  await t.apply(1, record('old', '2026-01-04T23:59:59.999Z', 1));
  await t.apply(2, record('new', '2026-01-05T00:00:00.000Z', 1));
  const pruned = { type: 'CostEntriesPruned' as const, data: { before: '2026-01-05T00:00:00.000Z', count: 1 } };
  await t.apply(3, { ...pruned, workspace: '_', subject: 'cortex.evt.billing._.costlog.all' });
  expect(await t.db.selectFrom('cost_entries').select('id').execute()).toEqual([{ id: 'new' }]);
  expect(await spending(t)).toHaveLength(1);
});
