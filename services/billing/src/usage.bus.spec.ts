import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBilling, type Billing, type Session } from './testing/billing.js';

let billing: Billing;

beforeAll(async () => {
  billing = await startBilling();
});
afterAll(async () => {
  await billing[Symbol.asyncDispose]();
});

let count = 0;
/** A session and a project of its own for each test. */
const fresh = async (): Promise<{ session: Session; project: string }> => {
  const project = `p${++count}`;
  return { session: await billing.session(`s${count}`, { project }), project };
};

describe('a usage record', () => {
  it('is priced by its tokens and counted for the project of its session', async () => {
    const { session, project } = await fresh();
    const tokens = { input_tokens: 1_000_000, output_tokens: 100_000, cache_read_tokens: 2_000_000 };
    const recorded = await billing.use(session, { key: 'k', ...tokens });
    expect(recorded).toEqual({ recorded: true, cost_usd: 5.1 });
    expect(await billing.query({ projectId: project })).toMatchObject({
      scope: 'project',
      today: { total: 5.1, api: 5.1, plan: 0, budget: 300, remaining: 294.9, percent: 1.7 },
      by_source: { estimate: { today: 5.1, month: 5.1 }, gateway: { today: 0, month: 0 } },
      tokens: { today: { input: 1_000_000, output: 100_000 } },
      entry_count: 1,
    });
  });
});
