import { startService, type RunningService } from '@cortex/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MemoryModule } from '../memory.module.js';
import { proposeFact } from './propose-fact.tool.js';
import { searchMemory } from './search-memory.tool.js';

let app: RunningService;
beforeAll(async () => {
  app = await startService(MemoryModule);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
});

it('is found by its words as soon as it is proposed', async () => {
  const fact = { domain: 'Auth flow', topic: 'session token TTL', content: 'Sessions expire after 30 days idle.' };
  const proposed = await app.call(proposeFact, fact);
  expect(proposed).toEqual({
    fact_id: expect.any(String),
    domain: 'auth-flow',
    domain_name: 'auth-flow',
    repo: null,
    topic: 'session token TTL',
    memory_type: 'fact',
    status: 'proposed',
    confidence: 1,
  });
  const found = await app.call(searchMemory, { query: 'how long do sessions last' });
  expect(found).toMatchObject({ mode: 'hybrid', facts: [{ id: proposed.fact_id, content: fact.content }], count: 1 });
});
