import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, tempDir } from '@cortex/testing';
import { expect, it } from '@jest/globals';
import { startBilling, type Billing } from '../testing/billing.js';

const line = (more: Record<string, unknown>) =>
  JSON.stringify({ timestamp: new Date().toISOString(), cost_usd: 1, session_id: 's0', input_tokens: 5, ...more });
const LINES = [
  line({ project: 'arm', mode: 'plan', backend: 'claude', unheard_of: true }),
  line({ project: 'arm', mode: 'plan', backend: 'claude', unheard_of: true }),
  '',
  line({ cost_usd: null, output_tokens: 7 }),
  '{ "timestamp": "yesterday", "cost_usd": 1 }',
  line({ cost_usd: -1 }),
  'no json',
];

const done = ({ app }: Billing) => eventually(() => app.log.some((text) => text.includes('costs.jsonl taken over')));

it('takes costs.jsonl over once: equal lines are records of their own, a line that is none is told and skipped', async () => {
  const dir = await tempDir('import');
  await mkdir(join(dir, 'data'), { recursive: true });
  await writeFile(join(dir, 'data', 'costs.jsonl'), LINES.join('\n'));
  const env = { CORTEX_HOME: dir };
  await using billing = await startBilling({ env });
  await done(billing);
  expect(billing.app.log.filter((text) => text.includes('is no cost record'))).toHaveLength(3);
  const expected = {
    today: { total: 2, plan: 2, api: 0 },
    tokens: { today: { input: 15, output: 7 } },
    entry_count: 3,
  };
  await eventually(async () => expect(await billing.query()).toMatchObject(expected));
  expect(await billing.query({ projectId: 'general' })).toMatchObject({ today: { total: 0 }, entry_count: 1 });
  // What came in without an owner is an operator's to see.
  expect(await billing.query({}, { principal: { id: 'per_1' }, workspace: null })).toMatchObject({ entry_count: 0 });

  const { nats, postgres } = billing.app;
  await writeFile(join(dir, 'data', 'costs.jsonl'), [...LINES, line({ project: 'more' })].join('\n'));
  await billing.app.stop();
  await using again = await startBilling({ nats, postgres, env });
  const session = await again.session('s1');
  await again.use(session, { key: 'k', cost_usd: 4 });
  await eventually(async () => expect(await again.query()).toMatchObject({ today: { total: 6 }, entry_count: 4 }));
});

it('an import that was cut off before its end goes on at the next start and counts nothing twice', async () => {
  const dir = await tempDir('import');
  await mkdir(join(dir, 'data'), { recursive: true });
  const lines = Array.from({ length: 400 }, (_, n) => line({ cost_usd: 0.01, num_turns: n }));
  await writeFile(join(dir, 'data', 'costs.jsonl'), lines.join('\n'));
  const env = { CORTEX_HOME: dir };
  await using first = await startBilling({ env });
  const { nats, postgres } = first.app;
  await first.app.stop();
  await using second = await startBilling({ nats, postgres, env });
  await eventually(async () => {
    expect(await second.query()).toMatchObject({ today: { total: 4 }, entry_count: 400 });
  });
});
